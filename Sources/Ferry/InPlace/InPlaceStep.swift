internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// A step in place on a file of the run folder: a copy of the store's pages, or the destination of the step before.
///
/// Verification compares the destination with the step's source. A step that rewrites rows changes a copy of its source
/// under a rollback journal. Any other step's source is the destination's main file: until verification, the step's
/// result is in the `-wal` alone, and a killed step begins again from the main file.
struct InPlaceStep: StepWork {
    let step: StepPlan
    /// The destination of the step before; nil for the first step, which begins with the store.
    let previous: String?
    /// Whether the step changes a copy; always true for the first step.
    let isCopied: Bool
    let sourceGuard: SourceGuard
    /// Whether the destination gets the store's WAL mode; the destination of a copy step has a rollback journal.
    let keepsLog: Bool
    let folder: String
    let files: FileLayer
    let options: EngineOptions

    var destinationPath: String { folder + "/destination.sqlite" }
    var sourcePath: String {
        guard let previous else { return sourceGuard.store.main }
        return isCopied ? previous : destinationPath
    }
    /// Whether no other program can write the source; true too for a store that not even SQLite can write.
    var isSourcePrivate: Bool { previous != nil || sourceGuard.access == .unlocked }

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
        try connection.setJournalMode("TRUNCATE")
        let reports = try InPlaceRun.run(
            [step], on: connection, options: options, checks: options.checksInPlace
        ) { reports in
            // Valid once the destination has the new version.
            try committed.write(reports[0], isLogged: false)
        }
        withExtendedLifetime(connection) {}
        return reports[0]
    }

    private func migrateByLog(_ committed: CommittedStep) throws -> StepReport {
        let connection = try open()
        connection.keepWriteAheadLogOnClose()
        try connection.setJournalMode("WAL")
        // The main file stays unchanged until the step is verified.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        let reports = try InPlaceRun.run([step], on: connection, options: options, checks: options.checksInPlace)
        withExtendedLifetime(connection) {}
        try committed.write(reports[0], isLogged: true)
        return reports[0]
    }

    /// Whether the destination has the new version; opening it rolls back a transaction that was not committed.
    private func isMigrated() throws -> Bool {
        guard try files.exists(destinationPath) else { return false }
        return try StoreMetadata.read(from: open()).hashes == step.resolved.destination.hashes
    }

    /// Puts the step's source in place, or restores it after a killed call.
    private func begin() throws {
        guard try !files.exists(destinationPath) else { return try removeLog() }
        guard let previous, !isCopied else {
            return try PageCopy(folder: folder, destination: destinationPath, files: files)
                .run(ofStepAfter: previous, sourceGuard, options)
        }
        try files.rename(previous, to: destinationPath)
        try files.syncFolder(folder)
        try files.syncFolder(FileLayer.parent(of: previous))
    }

    private func removeLog() throws {
        let names = StoreFileNames(destinationPath)
        for side in [names.log, names.index] { try files.removeIfPresent(side) }
    }

    private func open() throws -> Connection {
        try Connection(inPlace: destinationPath, memory: options.memory, vfs: options.vfs, trace: options.trace)
    }

    func finish() throws {
        do {
            let connection = try open()
            if !isCopied, try !connection.checkpoint("TRUNCATE") {
                throw FerryError(.internalError, "\(destinationPath) could not be checkpointed from its -wal.")
            }
            try connection.setJournalMode(keepsLog ? "WAL" : "DELETE")
        }
        // The rollback journal, if any, is empty.
        try StoreFileNames(destinationPath).removeSides(files: files)
        // SQLite would read a `-wal` that reappears after a power cut as a part of the destination.
        try files.syncFolder(folder)
    }
}

extension Connection {
    /// - Throws: ``FerryError`` `.internalError` if SQLite keeps another mode.
    func setJournalMode(_ mode: String) throws {
        guard try setPragma("journal_mode", to: mode)?.text == mode.lowercased() else {
            throw FerryError(.internalError, "The journal mode of \(path) could not be set to \(mode).")
        }
    }
}

/// A copy of a database's content as SQLite reads it, page by page; only a complete copy gets the destination's name.
struct PageCopy {
    let folder: String
    let destination: String
    let files: FileLayer

    /// The unfinished copy, and the number of its durable bytes.
    private var copy: String { folder + "/copy.sqlite" }
    private var mark: String { folder + "/copied" }

    /// At most this many bytes are copied again after a stop.
    private static let copiedBytes: Int64 = 64 << 20

    /// Copies the rest of the pages.
    ///
    /// - Throws: ``FerryError``, ``DatabaseError``, or the reason of the stop request; the next call then continues.
    func run(_ reader: PageReader, stop: StopRequest) throws {
        var output = try files.exists(copy) ? files.append(to: copy) : files.create(copy, mode: 0o600)
        let done = try files.exists(mark) ? Int64(String(decoding: files.read(mark), as: UTF8.self)) ?? 0 : 0
        try output.truncate(to: (0...output.offset).contains(done) ? done : 0)
        var worked: UInt64 = 0
        while output.offset < reader.byteCount {
            try stop.checkBetweenUnits(after: worked)
            let start = Clock.nanoseconds()
            defer { worked = Clock.nanoseconds(since: start) }
            try reader.write(to: &output, limit: Self.copiedBytes, stop: stop)
            try output.sync()
            try files.replace(mark, with: Array(String(output.offset).utf8), mode: 0o600)
            stop.unitIsDone()
        }
        try output.close()
        try place()
        try files.removeIfPresent(mark)
    }

    /// Copies the source of a step: the destination of the step before, or with nil the store.
    ///
    /// Where the volume can, the copy is a clone, which takes neither time nor space.
    func run(ofStepAfter previous: String?, _ sourceGuard: SourceGuard, _ options: EngineOptions) throws {
        options.progress?(ProgressUpdate(phase: .rows, subject: "copy of the store"))
        guard let previous else {
            let reader = try PageReader(sourceGuard.connection)
            if try !reader.readsLog && clone(sourceGuard.clonedFile()) { return }
            return try run(reader, stop: options.stop)
        }
        if try clone(ClonedFile(previous, files: files)) { return }
        let connection = try Connection(path: previous, mode: .immutable)
        try connection.execute("BEGIN")
        try run(PageReader(connection), stop: options.stop)
    }

    /// - Returns: False if the volume cannot clone, or an earlier call has begun to copy pages.
    private func clone(_ source: ClonedFile) throws -> Bool {
        guard try !files.exists(mark) else { return false }
        try files.removeIfPresent(copy)
        guard try source.clone(to: copy) else { return false }
        try files.syncFile(copy)
        try place()
        return true
    }

    private func place() throws {
        try files.rename(copy, to: destination)
        try files.syncFolder(folder)
    }

    /// Compares the copy with its source byte for byte.
    ///
    /// - Throws: ``FerryError`` `.verificationFailed` if they differ.
    func verify(against reader: PageReader, stop: StopRequest) throws {
        let copy = try files.open(destination)
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        var isEqual = try copy.size() == reader.byteCount
        while isEqual, offset < reader.byteCount {
            try stop.check()
            let count = Int(min(Int64(piece), reader.byteCount - offset))
            let own = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            let expected = UnsafeMutableRawBufferPointer(rebasing: buffer[piece..<piece + count])
            try reader.read(into: expected, at: offset)
            isEqual = try copy.read(into: own, at: offset) == count && compareBytes(.init(own), .init(expected)) == 0
            offset += Int64(count)
        }
        guard isEqual else {
            throw FerryError(
                .verificationFailed, "The copy \(destination) differs from the store.",
                remedy: """
                    \(action: .again) with \(on: .restarts), which copies it again. If that \
                    fails too, the disk is faulty.
                    """)
        }
    }
}

/// The report of a step in place whose transaction is committed, for a call that resumes after it.
///
/// If the transaction is in the destination's `-wal`, the report is written after COMMIT and identifies that `-wal`, so
/// that it is valid for no other. Otherwise the report is written before COMMIT, and the destination's version shows
/// whether the transaction was committed.
struct CommittedStep {
    let destination: String
    let folder: String
    let files: FileLayer

    private struct Content: Codable {
        var log: [UInt64]?
        var counts: [EntityMappingCounts]
        var unmapped: [Rows]
        var healed: [Healed]
        var leftBehind: [String]
    }

    private struct Rows: Codable {
        var entity: String
        var rows: Int64
    }

    private struct Healed: Codable {
        var kind: DamageKind
        var entity: String
        var rows: Int64
    }

    private var path: String { folder + "/committed.json" }

    /// The identity of the destination's `-wal`; nil if there is none.
    private func log() throws(FerryError) -> [UInt64]? {
        guard let log = try files.attributesIfPresent(StoreFileNames(destination).log) else { return nil }
        return [log.device, log.inode, UInt64(bitPattern: log.size), UInt64(bitPattern: log.modified)]
    }

    /// The report; nil if the step is not done, which the destination's version shows without a `-wal`.
    func read(orBy isMigrated: () throws -> Bool) throws -> StepReport? {
        guard let content = try files.decoded(Content.self, at: path) else { return nil }
        guard try content.log.map({ try $0 == log() }) ?? isMigrated() else { return nil }
        var report = StepReport(counts: content.counts)
        report.unmapped = content.unmapped.map { ($0.entity, $0.rows) }
        report.healed = content.healed.map { ($0.kind, $0.entity, $0.rows) }
        report.leftBehind = content.leftBehind
        return report
    }

    func write(_ report: StepReport, isLogged: Bool) throws {
        let log = isLogged ? try log() : nil
        if isLogged, log == nil { return }
        let content = Content(
            log: log, counts: report.counts, unmapped: report.unmapped.map { Rows(entity: $0.entity, rows: $0.rows) },
            healed: report.healed.map { Healed(kind: $0.kind, entity: $0.entity, rows: $0.rows) },
            leftBehind: report.leftBehind)
        let bytes = try JSONEncoder.bytes(of: content, "The report of a step")
        try files.replace(path, with: bytes, mode: 0o600)
    }

    func remove() throws(FerryError) { try files.removeIfPresent(path) }
}
