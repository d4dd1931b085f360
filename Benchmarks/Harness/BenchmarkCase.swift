/// A job that is measured beside its floor.
package protocol BenchmarkCase: Sendable {
    /// The name on the command line and in the thresholds file.
    var name: String { get }
    /// One line that describes the job.
    var summary: String { get }
    /// The first side is Ferry's; the floors follow.
    var sides: [Side] { get }
    var measures: [Measure] { get }
    /// The charts of a sweep.
    var charts: [Chart] { get }

    /// The number of rows without `--rows`.
    var defaultRows: Int { get }

    /// Returns the points of the sweep for a wanted number of rows.
    func points(rows: Int) -> [BenchPoint]

    /// Makes the data of a point in an empty folder, in a process of its own; the harness does not measure this work.
    func prepare(_ point: BenchPoint, in folder: String) throws

    /// Does the job of one side in an empty work folder; work outside the probe is set-up.
    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws
}

extension BenchmarkCase {
    package var charts: [Chart] { [] }
    package var defaultRows: Int { 100_000 }
    package func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: rows)] }
}

/// One of the ways to do a case's job.
package struct Side: Sendable, Hashable {
    package var name: String
    /// The description in the table's legend.
    package var text: String
    /// Whether an additional run, without timing, counts statements and allocations.
    package var isCounted: Bool

    package init(_ name: String, _ text: String, isCounted: Bool = false) {
        self.name = name
        self.text = text
        self.isCounted = isCounted
    }
}
