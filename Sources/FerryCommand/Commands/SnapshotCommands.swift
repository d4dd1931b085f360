internal import Ferry
internal import FerryBase
internal import FerrySnapshot

struct SnapshotCreateCommand: Command {
    static let syntax = Syntax(
        "snapshot create", summary: "Take a snapshot of a store.",
        discussion: "Writes a compressed copy of the store, including its -wal and its external data, "
            + "with a manifest next to it, and verifies it while writing. The store is not changed. "
            + SnapshotOptions.restoring + " With --snapshot clone the copy is a copy-on-write file instead.",
        operands: [MigrationInput.store],
        options: [
            SnapshotOptions.formOption, SnapshotOptions.folder, ProgressForm.option,
        ], example: "ferry snapshot create App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let clones = try arguments.choice("--snapshot", among: SnapshotOptions.choices) == .clone
        let renderer = ProgressRenderer(try ProgressForm(arguments), on: console)
        let stop = InterruptWatch.start(on: console)
        defer { renderer.finish() }
        let entry = try StoreFiles(arguments.store).createSnapshot(
            in: arguments.snapshotFolder, clones: clones, stop: stop, onProgress: { renderer.show($0) })
        renderer.finish()
        let rendering = SnapshotRendering(entries: [entry])
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}

struct SnapshotListCommand: Command {
    static let syntax = Syntax(
        "snapshot list", summary: "List the snapshots of a store, oldest first.",
        discussion: "They are numbered in the order in which they were taken, whatever the clock said. "
            + "Only manifests are read; use rollback --check to read the archives.",
        operands: [MigrationInput.store], options: [SnapshotOptions.folder], example: "ferry snapshot list App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let entries = try StoreFiles(arguments.store).snapshots(in: arguments.snapshotFolder)
        try SnapshotRendering(entries: entries).show(allOf: arguments.store, on: console)
        return .success
    }
}

/// The options and operands of the snapshot commands; their texts name the archive form that this build writes.
enum SnapshotOptions {
    private static let form = SnapshotForm.preferred
    /// The start of the summary of an operand that names an archive.
    private static let archive = "The archive (…\(form.ending))."

    static let snapshot = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: the newest one.")
    static let folder = Syntax.Option.value(
        "--snapshot-dir", "DIR", "Folder of the snapshots. Default: STORE.snapshots.")

    /// The way to turn an archive into a database without Ferry.
    static let restoring = "The standard program \(form.program) -d can restore the database."

    /// The words of `--snapshot`.
    enum Choice: String {
        case zstd, gzip, clone, none

        static var compressed: Choice { form == .zstandard ? .zstd : .gzip }
    }

    static let choices: [Choice] = [.compressed, .clone]
    private static let choosing =
        "\(form.rawValue) (default) compresses the store; clone makes a copy-on-write file at once, "
        + "on APFS, Btrfs or XFS"
    static let formOption = Syntax.Option.choice("--snapshot", "FORM", of: choices, choosing + ".")
    static let choicesOrNone = choices + [.none]
    static let formOrNone = Syntax.Option.choice(
        "--snapshot", "FORM", of: choicesOrNone, choosing + "; none takes no snapshot, so that rollback is impossible.")
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
                "sequence": entry.sequence, "clone": entry.isClone,
            ]
            return members + (entry.problem.map { ["problem": $0.json] } ?? [:])
        }
    }

    func text(width: Int) -> [String] {
        let rows = entries.map { entry in
            [
                entry.sequence.map(String.init) ?? "", entry.created.moment, entry.version ?? "?",
                Quantity.sizeText(entry.bytes), entry.isClone ? "clone" : Quantity.sizeText(entry.compressedBytes),
                entry.problem != nil ? "damaged" : entry.verified == true ? "intact" : "not read", entry.url.filePath,
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
