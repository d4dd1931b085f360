internal import Ferry
internal import FerryBase
internal import FerrySnapshot

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
        store = arguments.operand(0).fileURL
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
        store = arguments.operand(0).fileURL
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
        store = arguments.operand(0).fileURL
        snapshot = arguments.optionalOperand(1)?.fileURL
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
        store = arguments.operand(0).fileURL
        snapshot = arguments.optionalOperand(1)?.fileURL
        folder = SnapshotOptions.folder(arguments)
        output = (arguments.value("--to") ?? "").fileURL
    }

    func run(on console: Console) throws -> ExitCode {
        let entry = try StoreFiles(store).restoreSnapshot(snapshot, in: folder, to: output)
        let rendering = SnapshotRendering(entries: [entry])
        console.result(
            rendering.json, text: ["Restored version \(entry.version ?? "unknown") to \(output.filePath)."])
        return .success
    }
}

struct SnapshotPruneCommand: Command {
    static let syntax = Syntax(
        "snapshot prune", summary: "Removes old snapshots of a store.",
        discussion:
            "Removes those that are neither among the newest nor younger than --min-age. Three are never removed, "
            + "whatever is asked for: the last one that can be read, the one that the store's ferry-log.json names as the "
            + "way back, and the one of an unfinished run. One whose manifest is damaged stays, too.",
        operands: [MigrationInput.store],
        options: [
            .value("--keep", "N", "How many of the newest stay, whatever their age.", isRequired: true),
            .value("--min-age", "TIME", "What is younger stays (12h, 7d). Default: 7d."), SnapshotOptions.folder,
        ], example: "ferry snapshot prune App.sqlite --keep 3 --min-age 30d")

    private let store: URL
    private let folder: URL?
    private let keep: Int
    private let minimumAge: Duration

    init(from arguments: Arguments) throws(FerryError) {
        store = arguments.operand(0).fileURL
        folder = SnapshotOptions.folder(arguments)
        keep = Int(try arguments.count("--keep", in: 1...1_000_000) ?? 1)
        let text = arguments.value("--min-age") ?? "7d"
        guard let nanoseconds = Quantity.nanoseconds(text) else {
            throw arguments.wrong("--min-age cannot be \"\(text)\".", "It is a time such as 12h or 7d.")
        }
        minimumAge = .nanoseconds(nanoseconds)
    }

    func run(on console: Console) throws -> ExitCode {
        let stop = StopRequest()
        InterruptWatch.start(stop, on: console)
        let report = try StoreFiles(store).pruneSnapshots(in: folder, keep: keep, minimumAge: minimumAge, stop: stop)
        if report.removed.isEmpty, report.kept.isEmpty { try store.checkStoreExists() }
        let (removed, kept) = (SnapshotRendering(entries: report.removed), SnapshotRendering(entries: report.kept))
        func text(width: Int) -> [String] {
            (report.removed.isEmpty ? ["Nothing was removed."] : ["Removed:"] + removed.text(width: width))
                + (report.kept.isEmpty ? [] : ["Kept:"] + kept.text(width: width))
        }
        console.result(JSON.members(["removed": removed.list, "kept": kept.list]), text: text(width:))
        return .success
    }
}

/// The words that the commands about snapshots share; they tell the form that this build writes.
enum SnapshotOptions {
    private static let form = SnapshotForm.preferred
    /// What is said of the words that name an archive.
    private static let archive = "The archive (…\(form.ending))."

    static let snapshot = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: the newest in the folder.")
    static let snapshotAmongAll = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: all of the folder.")
    static let folder = Syntax.Option.value(
        "--snapshot-dir", "DIR", "The folder of the snapshots. Default: STORE.snapshots.")

    static let levelOption = Syntax.Option.value(
        "--snapshot-level", "N",
        "The level of \(form.name), \(form.levels.lowerBound) (default, quick) to \(form.levels.upperBound) (small).")
    /// How an archive becomes a database without Ferry.
    static let restoring = "Stock \(form.program) -d restores the database."

    static func folder(_ arguments: Arguments) -> URL? { arguments.value("--snapshot-dir")?.fileURL }

    static func level(_ arguments: Arguments) throws(FerryError) -> Int {
        let levels = Int64(form.levels.lowerBound)...Int64(form.levels.upperBound)
        guard let level = try arguments.count("--snapshot-level", in: levels) else { return form.levels.lowerBound }
        return Int(level)
    }
}

/// Snapshots as text and as JSON.
struct SnapshotRendering {
    let entries: [SnapshotEntry]

    var json: [(String, JSON)] { JSON.members(["snapshots": list]) }

    var list: JSON {
        let snapshots = entries.map { entry in
            var members: [(String, JSON)] = JSON.members([
                "path": entry.url.filePath, "created": entry.created.formatted(.iso8601), "version": entry.version,
                "bytes": entry.bytes, "compressedBytes": entry.compressedBytes, "verified": entry.verified,
                "sequence": entry.sequence,
            ])
            if let problem = entry.problem { members.append(("problem", problem.json)) }
            return JSON.object(members)
        }
        return .array(snapshots)
    }

    func text(width: Int) -> [String] {
        var table = TextTable(
            ["No.", "Created", "Version", "Size", "Archive", "State", "Path"],
            [.right, .left, .left, .right, .right, .left, .left])
        for entry in entries {
            let state = entry.problem != nil ? "damaged" : entry.verified == true ? "whole" : "not read"
            table.add([
                entry.sequence.map(String.init) ?? "", entry.created.formatted(.iso8601), entry.version ?? "?",
                Quantity.sizeText(entry.bytes),
                Quantity.sizeText(entry.compressedBytes), state, entry.url.filePath,
            ])
        }
        return table.lines(width: width) + entries.flatMap { $0.problem?.lines ?? [] }
    }
}
