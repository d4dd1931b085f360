internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
        store = URL(filePath: arguments.operand(0))
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
        console.result([("removed", removed.list), ("kept", kept.list)], text: text(width:))
        return .success
    }
}
