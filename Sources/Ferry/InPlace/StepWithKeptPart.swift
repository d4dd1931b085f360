internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A copy step that leaves tables where they are: its destination begins as a copy of its source's pages.
///
/// The statements of the kept part are one transaction on that copy; the engine then fills the other tables in chunks.
/// A killed call goes on from the last copied pages, from before the transaction, or from the last chunk.
struct StepWithKeptPart: StepWork {
    let filling: StepRun
    let part: StepPlan
    /// The destination of the step before; nil for the first step, which begins with the store.
    let previous: String?
    let sourceGuard: SourceGuard
    let files: FileLayer

    var step: StepPlan { filling.step }
    var sourcePath: String { filling.sourcePath }
    var isSourcePrivate: Bool { filling.isSourcePrivate }
    var destinationPath: String { filling.destinationPath }
    var folder: String { filling.folder }
    var options: EngineOptions { filling.options }

    func run() throws -> StepReport {
        var filling = filling
        let source = try previous.map { try Connection(path: $0, mode: .immutable) } ?? sourceGuard.connection
        filling.closing = try InPlacePlanning(part, on: source, dropping: options.dropping).closing()
        if try !files.exists(destinationPath) {
            try PageCopy(folder: folder, destination: destinationPath, files: files)
                .run(ofStepAfter: previous, sourceGuard, options)
        }
        try keepPart()
        return try filling.run()
    }

    /// Runs the statements of the kept part, unless an earlier call has.
    private func keepPart() throws {
        let connection = try Connection(
            inPlace: destinationPath, memory: options.memory, vfs: options.vfs, trace: options.trace)
        guard try StoreMetadata.read(from: connection).hashes != step.resolved.destination.hashes else { return }
        try connection.setJournalMode("TRUNCATE")
        // Verification looks at the whole step.
        try InPlaceRun.run([part], on: connection, options: options, checks: { _ in { _, _ in } })
    }

    func finish() throws { try filling.finish() }
}
