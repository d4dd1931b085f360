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
        let watch = RehearsalWatch(folder: folder, files: files)
        var migration: MigrationReport
        do {
            migration = try migrate(rehearsed, stop: stop) { event in
                watch.take(event)
                onEvent(event)
            }
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
        var report = watch.report
        migration.store = URL(fileURLWithPath: place.store)
        report.migration = migration
        report.peakResidentBytes = ProcessUse.peakMemory(files: files)
        return report
    }
}

/// The measurements of a rehearsed migration.
public struct RehearsalReport: Sendable, Hashable, Codable {
    /// The report of the migration.
    public var migration: MigrationReport?
    /// The source rows that were carried.
    public var rows: Int64 = 0
    /// The time of carrying the rows.
    public var rowTime: Duration = .zero
    /// The longest chunk of rows, including its commit.
    public var longestChunk: Duration = .zero
    /// The longest time between two commits of rows, relationships and indexes: the most work that a kill can lose.
    public var longestUnit: Duration = .zero
    /// The most memory that the process has held.
    public var peakResidentBytes: Int64?
    /// The most disk space of the run's files and the new store, without the temporary files in which SQLite sorts.
    public var peakDiskBytes: Int64 = 0

    public var rowsPerSecond: Double? { rowTime > .zero ? Double(rows) / rowTime.inSeconds : nil }
}

/// Measures a rehearsal by the migration's events.
final class RehearsalWatch: Sendable {
    private struct State {
        var report = RehearsalReport()
        var phase: Phase?
        /// The end of the last piece of work.
        var last = Clock.nanoseconds()
        var subject: String?
        var done: Int64 = 0
        var lastDiskLook: UInt64 = 0
    }

    private static let diskInterval: UInt64 = 20_000_000

    private let folder: String
    private let files: FileLayer
    private let state = Locked(State())

    init(folder: String, files: FileLayer) {
        self.folder = folder
        self.files = files
    }

    var report: RehearsalReport { state.withLock { $0.report } }

    func take(_ event: MigrationEvent) {
        let now = Clock.nanoseconds()
        state.withLock { state in
            switch event {
            case .phase(let phase, _):
                end(&state, at: now)
                (state.phase, state.subject, state.done) = (phase, nil, 0)
            case .progress(let update):
                let time = end(&state, at: now)
                if update.phase == .rows { count(update, time, &state) }
            case .planned, .warning, .finished: break
            }
            if Clock.nanoseconds(from: state.lastDiskLook, to: now) >= Self.diskInterval {
                state.lastDiskLook = now
                state.report.peakDiskBytes = max(state.report.peakDiskBytes, files.bytes(inFolder: folder))
            }
            // The reading of the folder does not count as work.
            state.last = Clock.nanoseconds()
        }
    }

    /// Ends the current piece of work, and returns its duration.
    @discardableResult
    private func end(_ state: inout State, at now: UInt64) -> Duration {
        let time = Duration.clamped(nanoseconds: Clock.nanoseconds(from: state.last, to: now))
        guard let phase = state.phase, [.rows, .relationships, .indexes].contains(phase) else { return time }
        state.report.longestUnit = max(state.report.longestUnit, time)
        if phase == .rows { state.report.rowTime += time }
        return time
    }

    private func count(_ update: ProgressUpdate, _ time: Duration, _ state: inout State) {
        if update.subject != state.subject || update.done < state.done {
            (state.subject, state.done) = (update.subject, 0)
        }
        guard update.done > state.done else { return }
        state.report.rows += update.done - state.done
        state.done = update.done
        state.report.longestChunk = max(state.report.longestChunk, time)
    }
}
