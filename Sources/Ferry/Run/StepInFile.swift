internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// One step in a file of the run folder; ``run()`` after a kill resumes or repeats it, with the same result.
///
/// The file begins as a copy of its source's pages if the step keeps or alters tables, else empty. One transaction brings
/// the kept and altered tables to the new version; the engine then fills the others in chunks. A killed call goes on from
/// the last copied pages, from before the transaction, or from the last chunk.
struct StepInFile {
    let step: StepPlan
    /// The destination of the step before; nil for the first step, which begins with the store.
    let previous: String?
    let sourceGuard: SourceGuard
    /// Whether a destination without filled tables gets the store's WAL mode.
    let keepsLog: Bool
    let folder: String
    let files: FileLayer
    let options: EngineOptions
    let policies: PolicyRegistry

    var destinationPath: String { folder + "/destination.sqlite" }
    /// The store against which the step is verified.
    var sourcePath: String { previous ?? sourceGuard.store.main }
    /// Whether no other program can change the source meanwhile; true too for a store that not even SQLite can write.
    var isSourcePrivate: Bool { previous != nil || sourceGuard.access == .unlocked }

    /// The tables that are not filled, as a step in place; nil if all are filled.
    private var part: StepPlan? { step.mode == .inPlace ? step : step.partInPlace }

    private var filling: StepRun {
        StepRun(
            step: step, sourcePath: sourcePath, isSourcePrivate: isSourcePrivate, folder: folder, options: options,
            policies: policies, keepsTables: true)
    }

    /// Makes the empty files of a step that has not begun.
    func prepare() throws {
        guard try !files.exists(folder) else { return }
        try files.createDirectory(folder, mode: 0o700)
        if part == nil { try files.createPrivately(destinationPath) }
        if step.mode == .copy { try files.createPrivately(filling.scratchPath) }
        try files.syncFolder(FileLayer.parent(of: folder))
    }

    func run() throws -> StepReport {
        guard let part else { return try filling.run() }
        var filling = filling
        if step.mode == .copy {
            let source = try previous.map { try Connection(path: $0, mode: .immutable) } ?? sourceGuard.connection
            filling.closing = try InPlacePlanning(part, on: source, dropping: options.dropping).closing()
        }
        if try !files.exists(destinationPath) {
            try PageCopy(folder: folder, destination: destinationPath, files: files)
                .run(ofStepAfter: previous, sourceGuard, options)
        }
        let altered = try alter(part)
        return try step.mode == .copy ? filling.run() : altered
    }

    /// Runs the statements of the kept and altered tables, unless an earlier call has.
    private func alter(_ part: StepPlan) throws -> StepReport {
        let record = CommittedStep(folder: folder, files: files)
        // Opening rolls back a transaction that was not committed.
        let connection = try open()
        if try StoreMetadata.read(from: connection).hashes == step.resolved.destination.hashes {
            return try record.read()
        }
        try connection.setJournalMode("TRUNCATE")
        let reports = try InPlaceRun.run(
            [part], on: connection, options: options, beforeCommit: { try record.write($0[0]) })
        withExtendedLifetime(connection) {}
        return reports[0]
    }

    private func open() throws -> Connection {
        try Connection(inPlace: destinationPath, memory: options.memory, vfs: options.vfs, trace: options.trace)
    }

    /// Leaves the whole verified destination in its main file, without Ferry's own tables.
    func finish() throws {
        if step.mode == .copy { return try filling.finish() }
        do {
            try open().setJournalMode(keepsLog ? "WAL" : "DELETE")
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
