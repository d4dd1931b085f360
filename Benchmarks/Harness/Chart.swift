/// The description of a sweep's drawing.
package struct Chart: Sendable {
    package enum Horizontal: Sendable { case parameter, rows }
    package enum Vertical: Sendable { case rowsPerSecond, peakBytes }

    /// The name of the drawing's file, without extension.
    package var name: String
    package var title: String
    package var horizontal: Horizontal
    /// The text below the horizontal axis.
    package var label: String
    package var vertical: Vertical

    package init(_ name: String, _ title: String, horizontal: Horizontal, label: String, vertical: Vertical) {
        self.name = name
        self.title = title
        self.horizontal = horizontal
        self.label = label
        self.vertical = vertical
    }

    /// One line of the drawing.
    struct Series {
        var name: String
        var dots: [Dot]
    }

    struct Dot {
        var x: Double
        var y: Double
        var lowest: Double
        var highest: Double
    }

    func series(of result: CaseResult) -> [Series] {
        var names: [String] = []
        for side in result.points.flatMap(\.sides) where !names.contains(side.name) { names.append(side.name) }
        return names.map { name in
            Series(name: name, dots: result.points.compactMap { dot(of: name, at: $0) }.sorted { $0.x < $1.x })
        }
    }

    private func dot(of name: String, at point: CaseResult.PointResult) -> Dot? {
        guard let side = point.sides.first(where: { $0.name == name }) else { return nil }
        let x = Double(horizontal == .parameter ? point.point.parameter : point.point.rows)
        switch vertical {
        case .rowsPerSecond:
            let spread = side.rowsPerSecond
            return Dot(x: x, y: spread.median, lowest: spread.lowest, highest: spread.highest)
        case .peakBytes:
            guard let spread = Spread(side.samples.compactMap(\.peakBytes).map(Double.init)) else { return nil }
            return Dot(x: x, y: spread.median, lowest: spread.lowest, highest: spread.highest)
        }
    }
}
