internal import Ferry
internal import FerryBase

struct RollbackCommand: Command {
    static let syntax = Syntax(
        "rollback", summary: "Puts a snapshot back in the place of the store.",
        discussion: "Reads the snapshot through first: a damaged one is refused (exit 2) and the store stays as it is. "
            + "Without a name the newest snapshot is taken that the store does not hold already, so that a second "
            + "rollback undoes the first. What is replaced is snapshotted first, unless nothing was written to it since "
            + "the last migration or rollback ended. A damaged store is copied as it is into the folder of the "
            + "snapshots; one that is gone is put back.",
        operands: [MigrationInput.store, SnapshotOptions.snapshot],
        options: [
            SnapshotOptions.folder,
            .flag("--no-snapshot", "Do not snapshot what is replaced: what was written to it since is lost."),
        ],
        example: "ferry rollback App.sqlite")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let keepsReplaced = !arguments.has("--no-snapshot")
        let report = try StoreFiles(arguments.store).rollback(
            to: arguments.snapshot, folder: arguments.snapshotFolder, keepsReplaced: keepsReplaced)
        for warning in report.warnings { console.note("Warning: \(warning)") }
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
                "From \(report.snapshot.filePath), which is kept.",
                report.kept.isEmpty
                    ? "No snapshot of the replaced store was taken\(keepsReplaced ? ": nothing was written to it since its migration or rollback ended." : ", as asked.")"
                    : "What was replaced is in \(report.kept.map(\.filePath).joined(separator: ", ")).",
            ] + (report.reason.map { ["\(number) was chosen: \($0)."] } ?? []))
        return .success
    }
}
