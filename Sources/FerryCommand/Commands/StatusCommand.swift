internal import Ferry
internal import FerryBase

struct StatusCommand: Command {
    static let syntax = Syntax(
        "status", summary: "Show the progress of a migration.",
        discussion: "Reads the run folder next to the store (with --output: next to the new store) without disturbing "
            + "a running migration. The state is none, running, interrupted or finished, according to "
            + "the run folder and the log next to the store.",
        operands: [MigrationInput.store],
        options: [.value("--output", "NEW", "The new store that the migration of STORE writes.")],
        example: "ferry status App.sqlite")

    let arguments: Arguments

    private var store: FileURL { arguments.value("--output")?.fileURL ?? arguments.store }

    func run(on console: Console) throws -> ExitCode {
        let status = try StoreFiles(store).status()
        // With --output the new store does not exist before the run has finished.
        if status.state == .none { try store.checkStoreExists() }
        console.result(
            [
                "state": status.state.rawValue, "phase": status.phase?.rawValue, "fraction": status.fraction,
                "rowsPerSecond": status.rowsPerSecond, "etaSeconds": status.timeLeft?.inSeconds,
                "runID": status.runID, "entity": status.subject, "step": status.step, "steps": status.steps,
                "finished": status.finished?.moment, "version": status.version,
                "restored": status.restored?.filePath,
            ], text: text(status))
        return .success
    }

    private func text(_ status: RunStatus) -> [String] {
        switch status.state {
        case .none: ["There is no running or unfinished migration of \(store.filePath)."]
        case .finished where status.restored != nil:
            [
                "\(store.filePath) was rolled back" + (status.finished.map { " at \($0.moment)" } ?? "")
                    + (status.version.map { " and has version \($0) again." } ?? "."),
                "Restored from \(status.restored?.filePath ?? ""). No migration is running.",
            ]
        case .finished:
            [
                "The last migration of \(store.filePath) finished"
                    + (status.finished.map { " at \($0.moment)" } ?? "")
                    + (status.version.map { " with version \($0)" } ?? "") + "; none is running."
            ]
        case .running: ["A migration of \(store.filePath) is running" + details(status)]
        case .interrupted where status.phase == .swap:
            [
                "A migration of \(store.filePath) is finished except for the swap.",
                "Run the same migrate command without --hold-swap to swap; --restart discards the migration.",
            ]
        case .interrupted:
            [
                "A migration of \(store.filePath) was interrupted" + details(status),
                "Run the same migrate command to continue; --restart discards it.",
            ]
        }
    }

    private func details(_ status: RunStatus) -> String {
        var parts: [String] = []
        if let phase = status.phase {
            parts.append("phase \(phase.rawValue)" + (status.subject.map { " (\($0))" } ?? ""))
        }
        if let step = status.step, let steps = status.steps, steps > 1 { parts.append("step \(step) of \(steps)") }
        if let fraction = status.fraction { parts.append("\(Quantity.decimal(fraction * 100, places: 1)) %") }
        if let rate = status.rowsPerSecond { parts.append("\(Quantity.whole(rate).counting("row"))/s") }
        if let left = status.timeLeft { parts.append("\(Quantity.durationText(left)) left") }
        return parts.isEmpty ? "." : ": \(parts.joined(separator: ", "))."
    }
}
