/// The figures of one process for one side of a case.
package struct Sample: Sendable, Hashable, Codable {
    package var seconds: Double
    /// Processor time of all threads and of the child programs.
    package var processorSeconds: Double?
    /// The rows that the measured work carried.
    package var rows: Int
    /// The highest memory of the process, its set-up included; nil where the system has no such figure.
    package var peakBytes: Int64?
    /// Bytes passed to write calls during the measured work; nil where the system has no such figure.
    package var writtenBytes: Int64?
    /// The number of completed SQL statements; only in a counting run.
    package var statements: Int?
    /// The number of allocations by malloc and its relatives; only in a counting run, nil where counting is impossible.
    package var allocations: Int?
    /// The case's additional figures.
    package var notes: [String: Double] = [:]

    package init(seconds: Double, rows: Int) {
        self.seconds = seconds
        self.rows = rows
    }

    package var rowsPerSecond: Double { seconds > 0 ? Double(rows) / seconds : 0 }
}
