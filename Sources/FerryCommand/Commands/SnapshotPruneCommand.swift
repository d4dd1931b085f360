internal import Ferry
internal import FerryBase

struct SnapshotPruneCommand: Command {
    static let syntax = Syntax(
        "snapshot prune", summary: "Remove old snapshots of a store.",
        discussion:
            "Keeps the newest snapshots, the newest one of each of the last days or weeks, and those younger than "
            + "--min-age; removes the rest. At least one of --keep, --keep-daily and --keep-weekly is needed, here or in "
            + "ferry.json. Never removed are the newest one, "
            + "the last one that can be read, the one that ferry-log.json names for a "
            + "rollback, the one of an unfinished migration, and those with a damaged manifest.",
        operands: [MigrationInput.store],
        options: [
            .value("--keep", "N", "Number of newest snapshots to keep, whatever their age. Default: 1."),
            .value(
                "--keep-daily", "N", "Keep the newest snapshot of each of the last N days (UTC) that have one."),
            .value(
                "--keep-weekly", "N",
                "Keep the newest snapshot of each of the last N weeks (from Monday, UTC) that have one."),
            .value(
                "--min-age", "TIME",
                "Keep snapshots younger than this (12h, 7d). Default: 7d, or 0 with --keep-daily or --keep-weekly."),
            .flag("--dry-run", "Show what would be removed, and stop."),
            SnapshotOptions.folder, ConfigFile.option,
        ], example: "ferry snapshot prune App.sqlite --keep 3 --keep-daily 7 --keep-weekly 4 --dry-run")

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
