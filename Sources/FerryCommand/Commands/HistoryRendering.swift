internal import Ferry
internal import FerryBase

/// The migrations and rollbacks of a store, oldest first.
struct HistoryRendering {
    let store: FileURL
    let runs: [FinishedRun]

    var json: JSON { ["store": store.filePath, "runs": JSON.list(runs, json)] }

    func text(width: Int) -> [String] {
        runs.isEmpty ? ["\(store.filePath) has no history."] : table.lines(width: width)
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

    private var table: TextTable {
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
            ], rows)
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
