internal import Ferry
internal import FerryBase

struct RollbackCommand: Command {
    static let name = "rollback"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let snapshots: SnapshotChoice? = try arguments.choice("--snapshot")
        let keepsReplaced = snapshots == nil
        let files = StoreFiles(arguments.store)
        if arguments.has("--check") {
            let entries = try files.verifySnapshots(arguments.snapshot, in: arguments.snapshotFolder)
            try SnapshotRendering(entries: entries).show(allOf: arguments, on: console)
            return entries.contains { $0.problem != nil } ? .differs : .success
        }
        if let output = arguments.value("--output")?.fileURL {
            let entry = try files.restoreSnapshot(arguments.snapshot, in: arguments.snapshotFolder, to: output)
            console.result(
                SnapshotRendering(entries: [entry]).json,
                text: ["Restored version \(entry.version ?? "unknown") to \(output.filePath)."])
            return .success
        }
        let wait = try arguments.wait()
        let report = try files.rollback(
            to: arguments.snapshot, folder: arguments.snapshotFolder, keepsReplaced: keepsReplaced,
            wait: wait, onWarning: { console.warn($0.message) })
        for warning in report.warnings { console.warn(warning.message) }
        let number = report.sequence.map { "Snapshot \($0)" } ?? "This snapshot"
        console.result(
            [
                "outcome": "rolledBack", "store": report.store.filePath, "snapshot": report.snapshot.filePath,
                "replaced": report.replaced, "version": report.version, "sequence": report.sequence,
                "reason": report.reason, "kept": report.kept.map(\.filePath),
                "warnings": report.warnings.map(\.message), "warningDetails": JSON.list(report.warnings, \.json),
            ],
            text: [
                "\(report.store.filePath) has version \(report.version ?? "unknown") again"
                    + (report.replaced.map { ", instead of \($0)." } ?? "."),
                "It was restored from \(report.snapshot.filePath), which is kept.",
                report.kept.isEmpty
                    ? "No snapshot of the replaced store was taken, \(keepsReplaced ? "because nothing has changed since the last rollback." : "as requested.")"
                    : "The replaced store is in \(report.kept.map(\.filePath).joined(separator: ", ")).",
            ] + (report.reason.map { ["\(number) was chosen: \($0)."] } ?? []))
        return .success
    }
}
