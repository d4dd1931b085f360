/// What a migration measured that was carried out on the side and then thrown away.
public struct RehearsalReport: Sendable {
    /// The report of the migration; nil when it ended after a sample of the rows.
    public var migration: MigrationReport?
    /// Source rows that were carried.
    public var rows: Int64 = 0
    /// Seconds in which they were carried.
    public var rowSeconds: Double = 0
    /// The longest chunk of rows, its commit included.
    public var longestChunkSeconds: Double = 0
    /// The longest piece of work between two commits while rows, relationships and indexes are made: what a kill there
    /// loses at worst.
    public var longestUnitSeconds: Double = 0
    /// The most memory that the process ever held.
    public var peakResidentBytes: Int64?
    /// The most that the files of the run and the new store took on the disk; files in which SQLite sorts are not seen.
    public var peakDiskBytes: Int64 = 0

    public var rowsPerSecond: Double? { rowSeconds > 0 ? Double(rows) / rowSeconds : nil }

    package init() {}
}
