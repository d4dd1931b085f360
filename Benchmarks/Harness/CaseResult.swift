/// All figures of one case.
package struct CaseResult: Sendable, Codable {
    package var name: String
    package var summary: String
    package var points: [PointResult] = []
    package var measures: [MeasureResult] = []

    package init(name: String, summary: String) {
        self.name = name
        self.summary = summary
    }

    package struct PointResult: Sendable, Codable {
        package var point: BenchPoint
        package var sides: [SideResult]
    }

    package struct SideResult: Sendable, Codable {
        package var name: String
        package var text: String
        package var seconds: Spread
        package var rowsPerSecond: Spread
        package var processorSeconds: Spread?
        /// The highest peak of all repetitions.
        package var peakBytes: Int64?
        package var writtenBytes: Spread?
        package var statements: Int?
        package var allocations: Int?
        package var samples: [Sample]
    }

    package struct MeasureResult: Sendable, Codable {
        package var name: String
        package var unit: Measure.Unit
        package var better: Measure.Better
        package var value: Spread
        package var budget: Double?
        package var meetsBudget: Bool?
        package var gate: Measure.GateUse
    }
}

extension CaseResult {
    /// Combines the rounds of a case.
    package init(_ benchmark: any BenchmarkCase, rounds: [Round]) {
        self.init(name: benchmark.name, summary: benchmark.summary)
        for point in rounds.first?.points ?? [] {
            points.append(
                PointResult(
                    point: point, sides: benchmark.sides.compactMap { Self.side($0, at: point, rounds: rounds) }))
        }
        measures = benchmark.measures.compactMap { measure in
            guard let value = Spread(rounds.compactMap(measure.value)) else { return nil }
            return MeasureResult(
                name: measure.name, unit: measure.unit, better: measure.better, value: value, budget: measure.budget,
                meetsBudget: measure.budget.map { measure.isWithin(value.median, $0) }, gate: measure.gate)
        }
    }

    private static func side(_ side: Side, at point: BenchPoint, rounds: [Round]) -> SideResult? {
        let samples = rounds.compactMap { $0.sample(side.name, at: point) }
        guard let seconds = Spread(samples.map(\.seconds)), let speed = Spread(samples.map(\.rowsPerSecond)) else {
            return nil
        }
        let counted = rounds.first?.counted(side.name, at: point)
        return SideResult(
            name: side.name, text: side.text, seconds: seconds, rowsPerSecond: speed,
            processorSeconds: Spread(samples.compactMap(\.processorSeconds)),
            peakBytes: samples.compactMap(\.peakBytes).max(),
            writtenBytes: Spread(samples.compactMap(\.writtenBytes).map(Double.init)),
            statements: counted?.statements, allocations: counted?.allocations, samples: samples)
    }
}
