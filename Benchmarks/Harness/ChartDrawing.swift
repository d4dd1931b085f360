/// A sweep as the text of an SVG file: a logarithmic horizontal axis, a vertical one from zero, a line per side.
package struct ChartDrawing {
    private let chart: Chart
    private let series: [Chart.Series]
    private let lowX: Double
    private let highX: Double
    private let highY: Double
    private let step: Double

    private static let width = 760.0
    private static let height = 420.0
    private static let left = 90.0
    private static let right = 180.0
    private static let top = 50.0
    private static let bottom = 60.0
    /// Colors that differ in print and for readers with red-green blindness.
    private static let colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]

    /// Nil for a case with fewer than two points to draw.
    package init?(_ chart: Chart, of result: CaseResult) {
        self.chart = chart
        series = chart.series(of: result)
        let dots = series.flatMap(\.dots)
        guard let low = dots.map(\.x).min(), let high = dots.map(\.x).max(), let top = dots.map(\.highest).max(),
            low > 0, low < high, top > 0
        else { return nil }
        lowX = low
        highX = high
        step = Self.step(for: top)
        highY = (top / step).rounded(.up) * step
    }

    package var text: String {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Self.short(Self.width))\" "
                + "height=\"\(Self.short(Self.height))\" font-family=\"sans-serif\" font-size=\"12\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
            Self.label(chart.title, Self.left, 28, "start", size: 16),
        ]
        lines += axes()
        for (index, line) in series.enumerated() {
            lines += drawing(of: line, color: Self.colors[index % Self.colors.count], index: index)
        }
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    // MARK: Parts

    private func axes() -> [String] {
        var lines: [String] = []
        var y = 0.0
        while y <= highY + step / 2 {
            let place = Self.short(vertical(y))
            lines.append(
                "<line x1=\"\(Self.short(Self.left))\" x2=\"\(Self.short(Self.width - Self.right))\" y1=\"\(place)\" "
                    + "y2=\"\(place)\" stroke=\"#dddddd\"/>")
            lines.append(Self.label(amount(y), Self.left - 8, vertical(y) + 4, "end"))
            y += step
        }
        for x in Set(series.flatMap(\.dots).map(\.x)).sorted() {
            lines.append(Self.label(Figure.grouped(Int(x)), horizontal(x), Self.height - Self.bottom + 20, "middle"))
        }
        lines.append(
            Self.label(
                chart.label, (Self.left + Self.width - Self.right) / 2, Self.height - Self.bottom + 42, "middle"))
        return lines
    }

    private func drawing(of line: Chart.Series, color: String, index: Int) -> [String] {
        let places = line.dots.map { "\(Self.short(horizontal($0.x))),\(Self.short(vertical($0.y)))" }
        var lines = [
            "<polyline points=\"\(places.joined(separator: " "))\" fill=\"none\" stroke=\"\(color)\" "
                + "stroke-width=\"2\"/>"
        ]
        for dot in line.dots {
            let x = Self.short(horizontal(dot.x))
            lines.append(
                "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.short(vertical(dot.lowest)))\" "
                    + "y2=\"\(Self.short(vertical(dot.highest)))\" stroke=\"\(color)\"/>")
            lines.append("<circle cx=\"\(x)\" cy=\"\(Self.short(vertical(dot.y)))\" r=\"3\" fill=\"\(color)\"/>")
        }
        let legend = Self.top + 16 + Double(index) * 20
        lines.append(
            "<rect x=\"\(Self.short(Self.width - Self.right + 16))\" y=\"\(Self.short(legend - 9))\" width=\"12\" "
                + "height=\"4\" fill=\"\(color)\"/>")
        lines.append(Self.label(line.name, Self.width - Self.right + 34, legend - 3, "start"))
        return lines
    }

    // MARK: Coordinates

    private func horizontal(_ x: Double) -> Double {
        let share = (Logarithm.ofTwo(x) - Logarithm.ofTwo(lowX)) / (Logarithm.ofTwo(highX) - Logarithm.ofTwo(lowX))
        return Self.left + share * (Self.width - Self.left - Self.right)
    }

    private func vertical(_ y: Double) -> Double {
        Self.height - Self.bottom - y / highY * (Self.height - Self.top - Self.bottom)
    }

    private func amount(_ y: Double) -> String {
        switch chart.vertical {
        case .rowsPerSecond: "\(Figure.grouped(Int(y)))/s"
        case .peakBytes: Figure.size(y)
        }
    }

    /// Returns a round distance that gives four to eight lines.
    private static func step(for top: Double) -> Double {
        var step = 1.0
        while step * 10 <= top { step *= 10 }
        while step > top { step /= 10 }
        if top / step < 2 { return step / 4 }
        return top / step < 5 ? step / 2 : step
    }

    private static func label(
        _ text: String, _ x: Double, _ y: Double, _ anchor: String, size: Int = 12
    ) -> String {
        "<text x=\"\(short(x))\" y=\"\(short(y))\" text-anchor=\"\(anchor)\" font-size=\"\(size)\">"
            + "\(escaped(text))</text>"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }

    /// Returns one digit after the point, which is finer than a pixel.
    private static func short(_ number: Double) -> String { Figure.decimal(number, digits: 1) }
}
