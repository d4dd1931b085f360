import BenchmarkHarness
import FerryBase

/// A case without real measurements, for tests of the harness.
struct SampleBench: BenchmarkCase {
    let name = "sample"
    let summary = "a case for tests"
    let sides = [Side("ferry", "quick", isCounted: true), Side("floor", "quicker")]
    let measures: [Measure] = [
        .speed(against: "floor", budget: 0.9), .peak(budget: 1_000), .statements(), .allocationsPerRow(),
        .written(against: "floor"), .work(against: "floor"),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {}
    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        try probe.measure(rows: point.rows) {}
    }

    /// Returns a round in which the sides took these times.
    static func round(ferry: Double, floor: Double, at points: [BenchPoint] = [BenchPoint(rows: 100)]) -> Round {
        var round = Round(points: points)
        for point in points {
            var own = Sample(seconds: ferry, rows: point.rows)
            own.processorSeconds = ferry / 2
            own.peakBytes = 2_000
            own.writtenBytes = 300
            round.set(own, of: "ferry", at: point)
            var other = Sample(seconds: floor, rows: point.rows)
            other.processorSeconds = floor / 2
            other.writtenBytes = 200
            round.set(other, of: "floor", at: point)
            var counted = own
            counted.statements = 12
            counted.allocations = 50
            round.setCounted(counted, of: "ferry", at: point)
        }
        return round
    }
}
