internal import Ferry
internal import FerryBase
internal import FerrySnapshot

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

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let level = try SnapshotOptions.level(arguments)
        let renderer = ProgressRenderer(try ProgressForm(arguments), on: console)
        let stop = InterruptWatch.start(on: console)
        defer { renderer.finish() }
        let entry = try StoreFiles(arguments.store)
            .createSnapshot(in: arguments.snapshotFolder, level: level, stop: stop) { renderer.show($0) }
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

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let entries = try StoreFiles(arguments.store).snapshots(in: arguments.snapshotFolder)
        try SnapshotRendering(entries: entries).show(allOf: arguments.store, on: console)
        return .success
    }
}

struct SnapshotVerifyCommand: Command {
    static let syntax = Syntax(
        "snapshot verify", summary: "Reads snapshots through and compares them with their manifests.",
        discussion: "Without a name all snapshots of the store are read. Exit 3 when one of them is damaged.",
        operands: [MigrationInput.store, SnapshotOptions.snapshotAmongAll], options: [SnapshotOptions.folder],
        example: "ferry snapshot verify App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let entries = try StoreFiles(arguments.store)
            .verifySnapshots(arguments.snapshot, in: arguments.snapshotFolder)
        try SnapshotRendering(entries: entries).show(allOf: arguments.store, on: console)
        return entries.contains { $0.problem != nil } ? .differs : .success
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

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let output = (arguments.value("--to") ?? "").fileURL
        let entry = try StoreFiles(arguments.store)
            .restoreSnapshot(arguments.snapshot, in: arguments.snapshotFolder, to: output)
        console.result(
            SnapshotRendering(entries: [entry]).json,
            text: ["Restored version \(entry.version ?? "unknown") to \(output.filePath)."])
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

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let keep = Int(try arguments.count("--keep", in: 1...1_000_000) ?? 1)
        let age = try arguments.time("--min-age", "a time such as 12h or 7d", from: 0) ?? .seconds(7 * 86_400)
        let stop = InterruptWatch.start(on: console)
        let report = try StoreFiles(arguments.store)
            .pruneSnapshots(in: arguments.snapshotFolder, keep: keep, minimumAge: age, stop: stop)
        if report.removed.isEmpty, report.kept.isEmpty { try arguments.store.checkStoreExists() }
        let (removed, kept) = (SnapshotRendering(entries: report.removed), SnapshotRendering(entries: report.kept))
        console.result(["removed": removed.list, "kept": kept.list]) { width in
            (report.removed.isEmpty ? ["Nothing was removed."] : ["Removed:"] + removed.text(width: width))
                + (report.kept.isEmpty ? [] : ["Kept:"] + kept.text(width: width))
        }
        return .success
    }
}

/// The options and operands of the snapshot commands; their texts name the archive form that this build writes.
enum SnapshotOptions {
    private static let form = SnapshotForm.preferred
    /// The start of the summary of an operand that names an archive.
    private static let archive = "The archive (…\(form.ending))."

    static let snapshot = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: the newest in the folder.")
    static let snapshotAmongAll = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: all of the folder.")
    static let folder = Syntax.Option.value(
        "--snapshot-dir", "DIR", "The folder of the snapshots. Default: STORE.snapshots.")

    static let levelOption = Syntax.Option.value(
        "--snapshot-level", "N",
        "The level of \(form.name), \(form.levels.lowerBound) (default, quick) to \(form.levels.upperBound) (small).")
    /// The way to turn an archive into a database without Ferry.
    static let restoring = "Stock \(form.program) -d restores the database."

    static func level(_ arguments: Arguments) throws(FerryError) -> Int {
        let levels = Int64(form.levels.lowerBound)...Int64(form.levels.upperBound)
        return Int(try arguments.count("--snapshot-level", in: levels) ?? levels.lowerBound)
    }
}

extension Arguments {
    /// The second operand of a command that may name a snapshot.
    var snapshot: FileURL? { operands.dropFirst().first?.fileURL }
    var snapshotFolder: FileURL? { value("--snapshot-dir")?.fileURL }
}

struct SnapshotRendering {
    let entries: [SnapshotEntry]

    var json: JSON { ["snapshots": list] }

    var list: JSON {
        .list(entries) { entry in
            let members: JSON = [
                "path": entry.url.filePath, "created": entry.created.moment, "version": entry.version,
                "bytes": entry.bytes, "compressedBytes": entry.compressedBytes, "verified": entry.verified,
                "sequence": entry.sequence,
            ]
            return members + (entry.problem.map { ["problem": $0.json] } ?? [:])
        }
    }

    func text(width: Int) -> [String] {
        let rows = entries.map { entry in
            [
                entry.sequence.map(String.init) ?? "", entry.created.moment, entry.version ?? "?",
                Quantity.sizeText(entry.bytes), Quantity.sizeText(entry.compressedBytes),
                entry.problem != nil ? "damaged" : entry.verified == true ? "whole" : "not read", entry.url.filePath,
            ]
        }
        let table = TextTable(
            [
                .number("No."), .text("Created"), .text("Version"), .number("Size"), .number("Archive"), .text("State"),
                .text("Path"),
            ], rows)
        return table.lines(width: width) + entries.flatMap { $0.problem?.lines ?? [] }
    }

    /// Prints all snapshots of a store; a store without snapshots must exist.
    func show(allOf store: FileURL, on console: Console) throws {
        if entries.isEmpty { try store.checkStoreExists() }
        console.result(json) { width in
            entries.isEmpty ? ["\(store.filePath) has no snapshots."] : text(width: width)
        }
    }
}
