internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerrySQLite

/// A step that is taken in place on a file of the run folder: a copy of the store's pages, or what the step before made.
///
/// Until it is verified, the step's result stands in the `-wal` alone. So the main file is what the step began with:
/// a killed step begins again from it, and verification compares with it, without a second copy.
struct InPlaceStep: StepWork {
    let step: StepPlan
    /// What the step before made; nil for the first step, which begins with the store.
    let previous: String?
    let sourceGuard: SourceGuard
    /// Whether the destination is to have the store's own journal mode; what a copy step made has a rollback journal.
    let keepsLog: Bool
    let folder: String
    let files: FileLayer
    let options: EngineOptions

    var destinationPath: String { folder + "/destination.sqlite" }
    var sourcePath: String { previous == nil ? sourceGuard.store.main : destinationPath }
    var isSourcePrivate: Bool { previous != nil }

    // MARK: Running

    func run() throws -> StepReport {
        let committed = CommittedStep(destination: destinationPath, folder: folder, files: files)
        if var report = try committed.read() {
            report.resumed = true
            return report
        }
        try committed.remove()
        try begin()
        let report = try migrate()
        try committed.write(report)
        return report
    }

    private func migrate() throws -> StepReport {
        let connection = try open()
        connection.keepWriteAheadLogOnClose()
        guard try connection.setPragma("journal_mode", to: "WAL")?.text == "wal" else {
            throw FerryError(.internalError, "\(destinationPath) takes no write-ahead log.")
        }
        // Nothing goes back into the main file before the step is verified.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        let reports = try InPlaceRun.run([step], on: connection, options: options)
        withExtendedLifetime(connection) {}
        return reports[0]
    }

    /// Brings the file that the step begins with to its place, or back to what it was before a call that was killed.
    private func begin() throws {
        guard try !files.exists(destinationPath) else { return try removeLog() }
        guard let previous else { return try copyStore() }
        try files.rename(previous, to: destinationPath)
        try files.syncFolder(folder)
        try files.syncFolder(FileLayer.parent(of: previous))
    }

    private func removeLog() throws {
        let names = StoreFileNames(destinationPath)
        for side in [names.log, names.index] { try files.removeIfPresent(side) }
    }

    /// As much is copied again at most, when a copy is stopped.
    private static let copiedBytes: Int64 = 64 << 20

    /// Copies the store page by page; only a whole copy gets the destination's name.
    private func copyStore() throws {
        let (copy, mark) = (folder + "/copy.sqlite", folder + "/copied")
        let reader = try PageReader(sourceGuard.connection)
        options.progress?(ProgressUpdate(phase: .rows, subject: "copy of the store"))
        var output = try files.exists(copy) ? files.append(to: copy) : files.create(copy)
        let done = try files.exists(mark) ? Int64(String(decoding: files.read(mark), as: UTF8.self)) ?? 0 : 0
        try output.truncate(to: done <= output.offset ? done : 0)
        while output.offset < reader.byteCount {
            try options.stop.check()
            try reader.write(to: &output, limit: Self.copiedBytes, stop: options.stop)
            try output.sync()
            try files.replace(mark, with: Array(String(output.offset).utf8))
            options.stop.unitIsDone()
        }
        try output.close()
        try files.rename(copy, to: destinationPath)
        try files.syncFolder(folder)
        try files.removeIfPresent(mark)
    }

    private func open() throws -> Connection {
        try Connection(inPlace: destinationPath, memory: options.memory, vfs: options.vfs, trace: options.trace)
    }

    // MARK: Finishing

    func finish() throws {
        do {
            let connection = try open()
            guard try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first?.integer == 0 else {
                throw FerryError(.internalError, "\(destinationPath) could not be written back from its -wal.")
            }
            if try !(keepsLog && storeUsesLog()) { _ = try connection.setPragma("journal_mode", to: "DELETE") }
        }
        try removeLog()
        // A log that a power cut brings back would be taken for a part of the destination.
        try files.syncFolder(folder)
    }

    private func storeUsesLog() throws -> Bool {
        var header = [UInt8](repeating: 0, count: DatabaseHeader.byteCount)
        try header.withUnsafeMutableBytes { try PageReader(sourceGuard.connection).read(into: $0, at: 0) }
        return DatabaseHeader(header)?.usesWriteAheadLog == true
    }
}
