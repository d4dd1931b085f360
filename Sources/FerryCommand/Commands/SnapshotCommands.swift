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
            SnapshotOptions.formOption, SnapshotOptions.folder, SnapshotOptions.levelOption,
            ProgressForm.option,
        ], example: "ferry snapshot create App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let level = try SnapshotOptions.level(arguments)
        let clones = try arguments.choice("--snapshot", among: SnapshotOptions.choices) == .clone
        try SnapshotOptions.checkLevel(arguments, isCompressed: !clones)
        return try SnapshotRendering.show(by: arguments, on: console) { stop, progress in
            try StoreFiles(arguments.store)
                .createSnapshot(
                    in: arguments.snapshotFolder, level: level, clones: clones, stop: stop, onProgress: progress)
        }
    }
}

struct SnapshotCompressCommand: Command {
    static let syntax = Syntax(
        "snapshot compress", summary: "Replace a clone with a compressed snapshot.",
        discussion:
            "Compresses a snapshot that was taken with --snapshot clone, verifies the archive while writing, and "
            + "then removes the clone. The snapshot keeps its name and its place in the order. "
            + SnapshotOptions.restoring,
        operands: [MigrationInput.store, SnapshotOptions.snapshot],
        options: [SnapshotOptions.folder, SnapshotOptions.levelOption, ProgressForm.option],
        example: "ferry snapshot compress App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let level = try SnapshotOptions.level(arguments)
        return try SnapshotRendering.show(by: arguments, on: console) { stop, progress in
            try StoreFiles(arguments.store)
                .compressSnapshot(
                    arguments.snapshot, in: arguments.snapshotFolder, level: level, stop: stop, onProgress: progress)
        }
    }
}

struct SnapshotListCommand: Command {
    static let syntax = Syntax(
        "snapshot list", summary: "List the snapshots of a store, oldest first.",
        discussion: "They are numbered in the order in which they were taken, whatever the clock said. "
            + "Only manifests are read; use snapshot verify to read the archives.",
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
        "snapshot verify", summary: "Verify snapshots against their manifests.",
        discussion: "Without a name, verifies all snapshots of the store. Exits with 3 if one of them is damaged.",
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
        "snapshot restore", summary: "Restore a snapshot to a new file.",
        discussion: "Restores to a path that does not exist yet and does not change the store. "
            + "To replace the store with a snapshot, use ferry rollback.",
        operands: [MigrationInput.store, SnapshotOptions.snapshot],
        options: [
            .value("--to", "NEW", "Path of the new store.", isRequired: true), SnapshotOptions.folder,
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

/// The options and operands of the snapshot commands; their texts name the archive form that this build writes.
enum SnapshotOptions {
    private static let form = SnapshotForm.preferred
    /// The start of the summary of an operand that names an archive.
    private static let archive = "The archive (…\(form.ending))."

    static let snapshot = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: the newest one.")
    static let snapshotAmongAll = Syntax.Operand("SNAPSHOT", .optional, "\(archive) Default: all of them.")
    static let folder = Syntax.Option.value(
        "--snapshot-dir", "DIR", "Folder of the snapshots. Default: STORE.snapshots.")

    static let levelOption = Syntax.Option.value(
        "--snapshot-level", "N",
        "Compression level of \(form.name), from \(form.levels.lowerBound) (default, fastest) to \(form.levels.upperBound) (smallest)."
    )
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
        "--snapshot", "FORM", of: choicesOrNone, choosing + "; none makes rollback impossible.")

    /// - Throws: ``FerryError`` `.usage` for a level of a snapshot that is not compressed.
    static func checkLevel(_ arguments: Arguments, isCompressed: Bool) throws(FerryError) {
        guard !isCompressed, arguments.isTyped("--snapshot-level") else { return }
        throw arguments.wrong(
            "--snapshot-level has no effect with --snapshot clone, which compresses nothing.",
            "Leave one of the two out.")
    }

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

    /// Makes a snapshot with progress and interruption, and prints it.
    static func show(
        by arguments: Arguments, on console: Console,
        _ make: (StopRequest, @escaping @Sendable (ProgressUpdate) -> Void) throws -> SnapshotEntry
    ) throws -> ExitCode {
        let renderer = ProgressRenderer(try ProgressForm(arguments), on: console)
        let stop = InterruptWatch.start(on: console)
        defer { renderer.finish() }
        let rendering = SnapshotRendering(entries: [try make(stop) { renderer.show($0) }])
        renderer.finish()
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }

    /// Prints all snapshots of a store; a store without snapshots must exist.
    func show(allOf store: FileURL, on console: Console) throws {
        if entries.isEmpty { try store.checkStoreExists() }
        console.result(json) { width in
            entries.isEmpty ? ["\(store.filePath) has no snapshots."] : text(width: width)
        }
    }
}
