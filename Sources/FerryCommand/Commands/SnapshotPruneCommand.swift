internal import Ferry
internal import FerryBase

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
