internal import Ferry
internal import FerryBase

struct HistoryCommand: Command {
    static let syntax = Syntax(
        "history", summary: "List the migrations and rollbacks of a store, oldest first.",
        discussion: "Reads the log next to the store (STORE.ferry-log.json), which keeps the last 20 runs that ended. "
            + "An interrupted migration is shown by ferry status. The store itself is not opened.",
        operands: [MigrationInput.store],
        options: [.value("--output", "NEW", "The new store that a migration of STORE wrote.")],
        example: "ferry history App.sqlite")

    let arguments: Arguments

    private var store: FileURL { arguments.value("--output")?.fileURL ?? arguments.store }

    func run(on console: Console) throws -> ExitCode {
        let runs = try StoreFiles(store).history()
        if runs.isEmpty { try store.checkStoreExists() }
        console.result(["store": store.filePath, "runs": JSON.list(runs, json)]) { width in
            runs.isEmpty ? ["\(store.filePath) has no history."] : text(runs, width: width)
        }
        return .success
    }

    private func json(_ run: FinishedRun) -> JSON {
        [
            "id": run.id, "kind": run.isRollback ? "rollback" : "migration", "finished": run.finished?.moment,
            "from": run.from, "to": run.to, "chain": run.chain, "rows": run.rows,
            "losses": run.losses.map { LossTable(losses: $0).json } ?? .null, "snapshot": run.snapshot?.filePath,
            "hasSnapshot": run.hasSnapshot, "isRolledBack": run.isRolledBack, "rolledBack": run.rolledBack?.moment,
            "tool": run.tool,
        ]
    }

    private func text(_ runs: [FinishedRun], width: Int) -> [String] {
        let rows = runs.map { run in
            [
                run.finished?.moment ?? "?", run.isRollback ? "rollback" : "migration", run.from ?? "?", run.to ?? "?",
                run.rows?.grouped ?? "", lost(run), run.isRolledBack ? "yes" : "", snapshot(run),
            ]
        }
        return TextTable(
            [
                .text("Finished"), .text("Run"), .text("From"), .text("To"), .number("Rows"), .text("Lost"),
                .text("Rolled back"), .text("Snapshot"),
            ], rows
        ).lines(width: width)
    }

    private func lost(_ run: FinishedRun) -> String {
        guard !run.isRollback else { return "" }
        guard let losses = run.losses else { return "?" }
        return losses.isEmpty ? "nothing" : losses.map(\.name).joined(separator: ", ")
    }

    private func snapshot(_ run: FinishedRun) -> String {
        guard let snapshot = run.snapshot else { return "none" }
        return snapshot.filePath + (run.hasSnapshot ? "" : " (removed)")
    }
}
