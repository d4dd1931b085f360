/// What one process measured of one side of a case.
package struct Sample: Sendable, Hashable, Codable {
    package var seconds: Double
    /// Time of processors, of all threads and of programs that were run and waited for.
    package var processorSeconds: Double?
    /// Rows that the measured work carried.
    package var rows: Int
    /// The most memory that the process ever held, its set-up included; nil where the system does not tell.
    package var peakBytes: Int64?
    /// Bytes given to write calls during the measured work; nil where the system does not tell.
    package var writtenBytes: Int64?
    /// SQL statements run to their end, counted on request only.
    package var statements: Int?
    /// Allocations by malloc and its kin, counted on request only; nil where they cannot be counted.
    package var allocations: Int?
    /// What the case notes beside these.
    package var notes: [String: Double] = [:]

    package init(seconds: Double, rows: Int) {
        self.seconds = seconds
        self.rows = rows
    }

    package var rowsPerSecond: Double { seconds > 0 ? Double(rows) / seconds : 0 }
}
