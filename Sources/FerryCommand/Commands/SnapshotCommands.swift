internal import Ferry
internal import FerryBase

struct SnapshotCreateCommand: Command {
    static let name = "snapshot create"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let form: SnapshotChoice? = try arguments.choice("--snapshot")
        let renderer = ProgressRenderer(try ProgressForm(arguments), on: console)
        let stop = InterruptWatch.start(on: console)
        defer { renderer.finish() }
        let entry = try StoreFiles(arguments.store).createSnapshot(
            in: arguments.snapshotFolder, clones: form == .clone, stop: stop, onProgress: { renderer.show($0) })
        renderer.finish()
        let rendering = SnapshotRendering(entries: [entry])
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}

struct SnapshotListCommand: Command {
    static let name = "snapshot list"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let entries = try StoreFiles(arguments.store).snapshots(in: arguments.snapshotFolder)
        try SnapshotRendering(entries: entries).show(allOf: arguments, on: console)
        return .success
    }
}

enum SnapshotChoice: String {
    case zstd, gzip, clone, none
}

extension Arguments {
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
                entry.bytes.bytesInUnits, entry.isClone ? "clone" : entry.compressedBytes.bytesInUnits,
                entry.problem != nil ? "damaged" : entry.verified == true ? "intact" : "not read", entry.url.filePath,
            ]
        }
        let table = TextTable(
            [
                .number("No."), .text("Created"), .text("Version"), .number("Size"), .number("Archive"), .text("State"),
                .below("Path"),
            ], rows)
        return table.lines(width: width) + entries.flatMap { $0.problem?.lines ?? [] }
    }

    /// Prints all snapshots of a store; a store without snapshots must exist.
    func show(allOf arguments: Arguments, on console: Console) throws {
        if entries.isEmpty { try arguments.store.checkStoreExists() }
        let (store, folder) = (arguments.store.filePath, arguments.snapshotFolder?.filePath)
        let none = "\(store) has no snapshots in \(folder ?? store + ".snapshots"); --snapshot-dir names another one."
        console.result(json) { width in entries.isEmpty ? [none] : text(width: width) }
    }
}

struct SnapshotPruneCommand: Command {
    static let name = "snapshot prune"

    private static let mostKept: Int64 = 1_000_000
    private static let rules = ["--keep", "--keep-daily", "--keep-weekly"]

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        guard Self.rules.contains(where: { arguments.value($0) != nil }) else {
            throw arguments.wrong(
                "No rule says which snapshots to keep.",
                "Add \(Self.rules.joined(separator: ", ")), or several of them.")
        }
        let keep = Int(try arguments.count("--keep", in: 1...Self.mostKept) ?? 1)
        let daily = Int(try arguments.count("--keep-daily", in: 0...Self.mostKept) ?? 0)
        let weekly = Int(try arguments.count("--keep-weekly", in: 0...Self.mostKept) ?? 0)
        let age =
            try arguments.time("--min-age", "a time such as 12h or 7d", from: 0)
            ?? .seconds(daily + weekly > 0 ? 0 : 7 * 86_400)
        let isTrial = arguments.has("--dry-run")
        let stop = isTrial ? StopRequest() : InterruptWatch.start(on: console)
        let report = try StoreFiles(arguments.store).pruneSnapshots(
            in: arguments.snapshotFolder, keep: keep, minimumAge: age, daily: daily, weekly: weekly, isTrial: isTrial,
            stop: stop)
        if report.removed.isEmpty, report.kept.isEmpty { try arguments.store.checkStoreExists() }
        let (removed, kept) = (SnapshotRendering(entries: report.removed), SnapshotRendering(entries: report.kept))
        console.result(["removed": removed.list, "kept": kept.list, "dryRun": isTrial]) { width in
            let title = isTrial ? "Would be removed:" : "Removed:"
            let nothing = isTrial ? "Nothing would be removed." : "Nothing was removed."
            return (report.removed.isEmpty ? [nothing] : [title] + removed.text(width: width))
                + (report.kept.isEmpty ? [] : [isTrial ? "Would be kept:" : "Kept:"] + kept.text(width: width))
        }
        return .success
    }
}
