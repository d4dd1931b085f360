internal import Ferry
internal import FerryBase

struct StatusCommand: Command {
    static let name = "status"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (output, count) = (arguments.value("--output"), arguments.operands.count)
        if output != nil, count > 1 {
            throw arguments.wrong("--output names one file for \(count) stores.", "Name the new stores as STORE.")
        }
        let stores = output.map { [$0.fileURL] } ?? arguments.operands.map(\.fileURL)
        if arguments.has("--history") { return try showHistory(of: stores, on: console) }
        let found = try stores.map { store in
            let status = try StoreFiles(store).status()
            // With --output the new store does not exist before the run has finished.
            if status.state == .none { try store.checkStoreExists() }
            return (store: store.filePath, status: status)
        }
        let json: JSON =
            found.count == 1
            ? Self.json(found[0].status)
            : ["stores": JSON.list(found) { ["store": $0.store] + Self.json($0.status) }]
        console.result(json, text: found.flatMap { text($0.store, $0.status) })
        return .success
    }

    private func showHistory(of stores: [FileURL], on console: Console) throws -> ExitCode {
        guard stores.count == 1 else {
            throw arguments.wrong("--history is for one store, not for \(stores.count).", "Run each by itself.")
        }
        let history = HistoryRendering(store: stores[0], runs: try StoreFiles(stores[0]).history())
        if history.runs.isEmpty { try stores[0].checkStoreExists() }
        console.result(history.json, text: history.text(width:))
        return .success
    }

    private static func json(_ status: RunStatus) -> JSON {
        [
            "state": status.state.rawValue, "phase": status.phase?.rawValue, "fraction": status.fraction,
            "rowsPerSecond": status.rowsPerSecond, "etaSeconds": status.timeLeft?.inSeconds,
            "runID": status.runID, "entity": status.subject, "step": status.step, "steps": status.steps,
            "finished": status.finished?.moment, "version": status.version,
            "restored": status.restored?.filePath, "paused": status.isPaused, "throttle": status.rest,
            "chunkRows": status.chunkRows, "rollback": status.isRollback,
        ]
    }

    private func text(_ store: String, _ status: RunStatus) -> [String] {
        let part =
            switch status.state {
            case .finished where status.restored != nil: "rolledBack"
            case .running where status.isPaused == true: "paused"
            case .interrupted where status.isRollback == true: "rollback"
            case .interrupted where status.phase == .swap: "held"
            default: status.state.rawValue
            }
        return Template.messages.lines(
            "status \(part)",
            [
                "store": store, "restored": status.restored?.filePath ?? "", "details": details(status),
                "word": ShellWord.quoted(store), "run": status.isRollback == true ? "rollback" : "migration",
                "moment": status.finished.map { " at \($0.moment)" } ?? "", "version": status.version ?? "unknown",
            ])
    }

    private func details(_ status: RunStatus) -> String {
        let parts = [
            status.phase.map { "phase \($0.rawValue)" + (status.subject.map { " (\($0))" } ?? "") },
            status.steps.flatMap { steps in
                status.step.flatMap { steps > 1 ? "step \($0) of \(steps)" : nil }
            },
            status.fraction.map { "\(Quantity.decimal($0 * 100, places: 1))%" },
            status.rowsPerSecond.map { "\(Quantity.whole($0).counting("row"))/s" },
            status.rest.map { "resting \(Quantity.decimal($0 * 100, places: 0))% of the time" },
            status.chunkRows.map { "chunks of \(Int64($0).counting("row"))" },
            status.isPaused == true ? nil : status.timeLeft.map { "\(Quantity.durationText($0)) left" },
        ].compactMap { $0 }
        return parts.isEmpty ? "." : ": \(parts.joined(separator: ", "))."
    }
}

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
            "losses": run.losses.map { $0.json } ?? .null, "snapshot": run.snapshot?.filePath,
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
                .text("Finished"), .text("Run"), .name("From"), .name("To"), .number("Rows"), .below("Lost"),
                .text("Rolled back"), .below("Snapshot"),
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
