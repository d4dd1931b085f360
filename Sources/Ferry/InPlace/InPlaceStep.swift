internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A step that is taken in place on a file of the run folder: a copy of the store's pages, or what the step before made.
///
/// Verification compares with what the step began with. Where rows are written anew that is another file, of which the
/// step has changed a copy under a rollback journal. Else it is the destination's own main file, and until it is
/// verified, the step's result stands in the `-wal` alone; a killed step begins again from the main file.
struct InPlaceStep: StepWork {
    let step: StepPlan
    /// What the step before made; nil for the first step, which begins with the store.
    let previous: String?
    /// Whether the step changes a copy; always for the first one.
    let isCopied: Bool
    let sourceGuard: SourceGuard
    /// Whether the destination is to have the store's own journal mode; what a copy step made has a rollback journal.
    let keepsLog: Bool
    let folder: String
    let files: FileLayer
    let options: EngineOptions

    var destinationPath: String { folder + "/destination.sqlite" }
    var sourcePath: String {
        guard let previous else { return sourceGuard.store.main }
        return isCopied ? previous : destinationPath
    }
    /// A store that nothing can write into, not even SQLite beside it, is read like a file of the run's own.
    var isSourcePrivate: Bool { previous != nil || sourceGuard.access == .unlocked }

    // MARK: Running

    func run() throws -> StepReport {
        let committed = CommittedStep(destination: destinationPath, folder: folder, files: files)
        if var report = try committed.read(orBy: isMigrated) {
            report.resumed = true
            return report
        }
        try committed.remove()
        try begin()
        return try isCopied ? migrateCopy(committed) : migrateByLog(committed)
    }

    private func migrateCopy(_ committed: CommittedStep) throws -> StepReport {
        let connection = try open()
        try setMode("TRUNCATE", connection)
        let reports = try InPlaceRun.run([step], on: connection, options: options) { reports in
            // Valid once the destination is of the new version.
            try committed.write(reports[0], isLogged: false)
        }
        withExtendedLifetime(connection) {}
        return reports[0]
    }

    private func migrateByLog(_ committed: CommittedStep) throws -> StepReport {
        let connection = try open()
        connection.keepWriteAheadLogOnClose()
        try setMode("WAL", connection)
        // Nothing goes back into the main file before the step is verified.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        let reports = try InPlaceRun.run([step], on: connection, options: options)
        withExtendedLifetime(connection) {}
        try committed.write(reports[0], isLogged: true)
        return reports[0]
    }

    private func setMode(_ mode: String, _ connection: Connection) throws {
        guard try connection.setPragma("journal_mode", to: mode)?.text == mode.lowercased() else {
            throw FerryError(.internalError, "\(destinationPath) cannot be brought to journal mode \(mode).")
        }
    }

    /// Whether the destination is of the new version; a transaction that was not committed is rolled back.
    private func isMigrated() throws -> Bool {
        guard try files.exists(destinationPath) else { return false }
        return try StoreMetadata.read(from: open()).hashes == step.resolved.destination.hashes
    }

    /// Brings the file that the step begins with to its place, or back to what it was before a call that was killed.
    private func begin() throws {
        guard try !files.exists(destinationPath) else { return try removeLog() }
        guard let previous else { return try copy(PageReader(sourceGuard.connection)) }
        if isCopied {
            let connection = try Connection(path: previous, mode: .immutable)
            try connection.execute("BEGIN")
            return try copy(PageReader(connection))
        }
        try files.rename(previous, to: destinationPath)
        try files.syncFolder(folder)
        try files.syncFolder(FileLayer.parent(of: previous))
    }

    private func removeLog() throws {
        let names = StoreFileNames(destinationPath)
        for side in [names.log, names.index] { try files.removeIfPresent(side) }
    }

    private func copy(_ reader: PageReader) throws {
        options.progress?(ProgressUpdate(phase: .rows, subject: "copy of the store"))
        try PageCopy(folder: folder, destination: destinationPath, files: files).run(reader, stop: options.stop)
    }

    private func open() throws -> Connection {
        try Connection(inPlace: destinationPath, memory: options.memory, vfs: options.vfs, trace: options.trace)
    }

    // MARK: Finishing

    func finish() throws {
        do {
            let connection = try open()
            if !isCopied, try !connection.checkpoint("TRUNCATE") {
                throw FerryError(.internalError, "\(destinationPath) could not be written back from its -wal.")
            }
            try setMode(keepsLog && storeUsesLog() ? "WAL" : "DELETE", connection)
        }
        try removeLog()
        // Empty, where the step had one.
        try files.removeIfPresent(StoreFileNames(destinationPath).journal)
        // A log that a power cut brings back would be taken for a part of the destination.
        try files.syncFolder(folder)
    }

    private func storeUsesLog() throws -> Bool {
        var header = [UInt8](repeating: 0, count: DatabaseHeader.byteCount)
        try header.withUnsafeMutableBytes { try PageReader(sourceGuard.connection).read(into: $0, at: 0) }
        return DatabaseHeader(header)?.usesWriteAheadLog == true
    }
}
