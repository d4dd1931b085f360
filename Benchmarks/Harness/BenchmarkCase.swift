/// A job that is measured beside its floor.
package protocol BenchmarkCase: Sendable {
    /// The name on the command line and in the thresholds file.
    var name: String { get }
    /// One line: the job.
    var summary: String { get }
    /// The first one is Ferry's; the floors come after it.
    var sides: [Side] { get }
    var measures: [Measure] { get }
    /// What is drawn of a sweep.
    var charts: [Chart] { get }

    /// How many rows when nobody asks for a number.
    var defaultRows: Int { get }

    /// Where it is measured, for a wanted number of rows.
    func points(rows: Int) -> [BenchPoint]

    /// Makes the data of a point in an empty folder, in a process of its own; not measured.
    func prepare(_ point: BenchPoint, in folder: String) throws

    /// Does the job of one side in an empty work folder; what the probe does not measure is set-up.
    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws
}

extension BenchmarkCase {
    package var charts: [Chart] { [] }
    package var defaultRows: Int { 100_000 }
    package func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: rows)] }
}

/// One of the ways in which a case's job is done.
package struct Side: Sendable, Hashable {
    package var name: String
    /// What it does, for the table's legend.
    package var text: String
    /// Whether one more run, which is not timed, counts its statements and allocations.
    package var isCounted: Bool

    package init(_ name: String, _ text: String, isCounted: Bool = false) {
        self.name = name
        self.text = text
        self.isCounted = isCounted
    }
}
