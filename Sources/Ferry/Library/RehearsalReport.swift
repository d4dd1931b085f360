internal import FerryBase

/// What a migration measured that was carried out on the side and then thrown away.
public struct RehearsalReport: Sendable, Hashable, Codable {
    /// The report of the migration; nil when it ended after a sample of the rows.
    public var migration: MigrationReport?
    /// Source rows that were carried.
    public var rows: Int64 = 0
    /// How long that took.
    public var rowTime: Duration = .zero
    /// The longest chunk of rows, its commit included.
    public var longestChunk: Duration = .zero
    /// The longest piece of work between two commits while rows, relationships and indexes are made: what a kill there
    /// loses at worst.
    public var longestUnit: Duration = .zero
    /// The most memory that the process ever held.
    public var peakResidentBytes: Int64?
    /// The most that the files of the run and the new store took on the disk; files in which SQLite sorts are not seen.
    public var peakDiskBytes: Int64 = 0

    public var rowsPerSecond: Double? { rowTime > .zero ? Double(rows) / rowTime.inSeconds : nil }

    package init() {}
}
