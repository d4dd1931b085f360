internal import Ferry
internal import FerryBase

struct RollbackCommand: Command {
    static let syntax = Syntax(
        "rollback", summary: "Replace the store with a snapshot.",
        discussion: "Verifies the snapshot first: a damaged one is refused (exit 2) and the store is not changed. "
            + "Without a name the newest snapshot is taken whose content is not the store's already, so that a second "
            + "rollback undoes the first. Takes a snapshot of the replaced store first, unless it is as the last rollback "
            + "left it. A damaged store is copied as it is into the snapshot folder; a missing one is restored.",
        operands: [MigrationInput.store, SnapshotOptions.snapshot],
        options: [
            SnapshotOptions.folder,
            .flag(
                "--no-snapshot",
                "Do not snapshot the replaced store. It is lost, and a second rollback cannot undo this one."),
            MigrateCommand.wait,
        ],
        example: "ferry rollback App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let keepsReplaced = !arguments.has("--no-snapshot")
        let wait = try arguments.wait()
        let report = try StoreFiles(arguments.store).rollback(
            to: arguments.snapshot, folder: arguments.snapshotFolder, keepsReplaced: keepsReplaced,
            waits: wait, onWarning: { console.warn($0.message) })
        for warning in report.warnings { console.warn(warning.message) }
        let number = report.sequence.map { "Snapshot \($0)" } ?? "This snapshot"
        console.result(
            [
                "outcome": "rolledBack", "store": report.store.filePath, "snapshot": report.snapshot.filePath,
                "replaced": report.replaced, "version": report.version, "sequence": report.sequence,
                "reason": report.reason, "kept": report.kept.map(\.filePath),
                "warnings": report.warnings.map(\.message), "warningDetails": WarningDetails.json(report.warnings),
            ],
            text: [
                "\(report.store.filePath) has version \(report.version ?? "unknown") again"
                    + (report.replaced.map { ", instead of \($0)." } ?? "."),
                "It was restored from \(report.snapshot.filePath), which is kept.",
                report.kept.isEmpty
                    ? "No snapshot of the replaced store was taken\(keepsReplaced ? ": it was as the last rollback had left it." : ", as requested.")"
                    : "The replaced store is in \(report.kept.map(\.filePath).joined(separator: ", ")).",
            ] + (report.reason.map { ["\(number) was chosen: \($0)."] } ?? []))
        return .success
    }
}
