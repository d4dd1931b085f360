internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

struct SnapshotCreateCommand: Command {
    static let syntax = Syntax(
        "snapshot create", summary: "Takes a snapshot of a store.",
        discussion: "Writes a compressed copy of the store, what is only in its -wal and its external data included, "
            + "with a manifest beside it; reads it back while writing. The store is not changed. "
            + SnapshotOptions.restoring,
        operands: [MigrationInput.store],
        options: [
            SnapshotOptions.folder, SnapshotOptions.levelOption, ProgressForm.option,
        ], example: "ferry snapshot create App.sqlite")

    private let store: URL
    private let folder: URL?
    private let level: Int
    private let progress: ProgressForm

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        folder = SnapshotOptions.folder(arguments)
        level = try SnapshotOptions.level(arguments)
        progress = try arguments.choice("--progress", among: ProgressForm.allCases) ?? .auto
    }

    func run(on console: Console) throws -> ExitCode {
        let stop = StopRequest()
        InterruptWatch.start(stop, on: console)
        let renderer = progress.renderer(on: console)
        defer { renderer.finish() }
        let entry = try StoreFiles(store).createSnapshot(in: folder, level: level, stop: stop) { renderer.show($0) }
        renderer.finish()
        let rendering = SnapshotRendering(entries: [entry])
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}

struct SnapshotListCommand: Command {
    static let syntax = Syntax(
        "snapshot list", summary: "Lists a store's snapshots, oldest first.",
        discussion: "Their numbers are the order in which they were made, whatever the clock said. "
            + "Reads the manifests only; snapshot verify reads the archives too.",
        operands: [MigrationInput.store], options: [SnapshotOptions.folder], example: "ferry snapshot list App.sqlite")

    private let store: URL
    private let folder: URL?

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        folder = SnapshotOptions.folder(arguments)
    }

    func run(on console: Console) throws -> ExitCode {
        // The snapshots of a lost store are what one looks for most.
        let rendering = SnapshotRendering(entries: try StoreFiles(store).snapshots(in: folder))
        if rendering.entries.isEmpty { try store.checkStoreExists() }
        console.result(rendering.json) { width in
            rendering.entries.isEmpty ? ["\(store.filePath) has no snapshots."] : rendering.text(width: width)
        }
        return .success
    }
}

struct SnapshotVerifyCommand: Command {
    static let syntax = Syntax(
        "snapshot verify", summary: "Reads snapshots through and compares them with their manifests.",
        discussion: "Without a name all snapshots of the store are read. Exit 3 when one of them is damaged.",
        operands: [MigrationInput.store, SnapshotOptions.snapshotAmongAll], options: [SnapshotOptions.folder],
        example: "ferry snapshot verify App.sqlite")

    private let store: URL
    private let snapshot: URL?
    private let folder: URL?

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        snapshot = arguments.optionalOperand(1).map { URL(filePath: $0) }
        folder = SnapshotOptions.folder(arguments)
    }

    func run(on console: Console) throws -> ExitCode {
        let rendering = SnapshotRendering(entries: try StoreFiles(store).verifySnapshots(snapshot, in: folder))
        if rendering.entries.isEmpty { try store.checkStoreExists() }
        console.result(rendering.json) { width in
            rendering.entries.isEmpty ? ["\(store.filePath) has no snapshots."] : rendering.text(width: width)
        }
        return rendering.entries.contains { $0.problem != nil } ? .differs : .success
    }
}

struct SnapshotRestoreCommand: Command {
    static let syntax = Syntax(
        "snapshot restore", summary: "Writes the store of a snapshot to a new place.",
        discussion: "Restores to a path where nothing is yet and leaves the store alone. "
            + "To put a snapshot in the place of the store: ferry rollback.",
        operands: [MigrationInput.store, SnapshotOptions.snapshot],
        options: [
            .value("--to", "NEW", "The new store's path.", isRequired: true), SnapshotOptions.folder,
        ], example: "ferry snapshot restore App.sqlite --to Restored.sqlite")

    private let store: URL
    private let snapshot: URL?
    private let folder: URL?
    private let output: URL

    init(from arguments: Arguments) throws(FerryError) {
        store = URL(filePath: arguments.operand(0))
        snapshot = arguments.optionalOperand(1).map { URL(filePath: $0) }
        folder = SnapshotOptions.folder(arguments)
        output = URL(filePath: arguments.value("--to") ?? "")
    }

    func run(on console: Console) throws -> ExitCode {
        let entry = try StoreFiles(store).restoreSnapshot(snapshot, in: folder, to: output)
        let rendering = SnapshotRendering(entries: [entry])
        console.result(
            rendering.json, text: ["Restored version \(entry.version ?? "unknown") to \(output.filePath)."])
        return .success
    }
}
