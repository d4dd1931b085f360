public import FerryBase
internal import Foundation

extension Migrator {
    /// Runs the migration into a folder beside the store, measures it, and deletes the result.
    ///
    /// Ferry only reads the store, under its guard, and takes no snapshot. A migration in place runs on a copy of it.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - sample: About the number of source rows of each entity that each step carries, without verification; nil for
    ///     all.
    ///   - stop: Requests a stop after the current unit; no work is kept then.
    ///   - onEvent: Receives every event, on the thread where it happens.
    /// - Returns: The measurements.
    /// - Throws: ``FerryError`` as ``migrate(_:stop:onEvent:)`` does; `.runActive` while another rehearsal runs.
    public func rehearse(
        _ configuration: Configuration = Configuration(), sample: Int64? = nil, stop: StopRequest = StopRequest(),
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> RehearsalReport {
        let place = try RunPlace(store: store.filePath, output: configuration.output?.filePath, files: files)
        try configuration.checkPlaces(of: place, files: files)
        let folder = place.result + ".ferry-rehearsal"
        try files.refuseLink(folder)
        try files.createDirectory(folder, mode: 0o700)
        guard let lock = try files.lock(folder + "/lock") else {
            throw FerryError(
                .runActive, "A rehearsal of \(place.store) is already running: \(folder) is locked.",
                remedy: "Wait for it to end, or stop it.")
        }
        defer { withExtendedLifetime(lock) {} }
        // Deletes the files of a killed rehearsal.
        for entry in try files.list(folder) where entry.name != "lock" {
            try files.removeTree(folder + "/" + entry.name)
        }
        var rehearsed = configuration
        rehearsed.rehearsesInPlace = configuration.output == nil
        rehearsed.output = URL(fileURLWithPath: folder + "/" + FileLayer.name(of: place.result))
        rehearsed.sample = sample
        if sample != nil { rehearsed.verification = .none }
        var migration: MigrationReport
        do {
            migration = try migrate(rehearsed, stop: stop, onEvent: onEvent)
        } catch {
            // The first error is reported.
            do { try files.removeTree(folder) } catch {}
            guard (error as? FerryError)?.code == .interrupted else { throw error }
            throw FerryError(
                .interrupted,
                "The rehearsal was interrupted. The store is unchanged, and nothing of the rehearsal is kept.",
                remedy: "To repeat it, \(action: .again).")
        }
        try files.removeTree(folder)
        migration.store = URL(fileURLWithPath: place.store)
        return RehearsalReport(migration)
    }
}

/// The measurements of a rehearsed migration.
public struct RehearsalReport: Sendable, Hashable, Codable {
    /// The report of the migration.
    public var migration: MigrationReport?
    /// The source rows that were read, over all steps.
    public var rows: Int64 = 0
    /// The time of carrying the rows and their relationships.
    public var rowTime: Duration = .zero
    /// The longest chunk of rows, including its commit.
    public var longestChunk: Duration = .zero
    /// The longest time between two points at which a stop keeps all work: the most work that a kill can lose.
    public var longestUnit: Duration = .zero
    /// The most memory that the process has held.
    public var peakResidentBytes: Int64?
    /// The most disk space of the run's files and the new store, without the temporary files in which SQLite sorts.
    public var peakDiskBytes: Int64 = 0

    public var rowsPerSecond: Double? { rowTime > .zero ? Double(rows) / rowTime.inSeconds : nil }

    init(_ migration: MigrationReport) {
        self.migration = migration
        rows = migration.entityMappings.map(\.read).clampedSum
        rowTime = migration.phases.filter { [.rows, .relationships].contains($0.phase) }.map(\.time).reduce(.zero, +)
        longestChunk = migration.chunks.longest ?? .zero
        longestUnit = max(migration.longestUnit ?? .zero, longestChunk)
        (peakResidentBytes, peakDiskBytes) = (migration.peakResidentBytes, migration.peakDiskBytes ?? 0)
    }
}
