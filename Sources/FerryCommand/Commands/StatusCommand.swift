internal import Ferry
internal import FerryBase

struct StatusCommand: Command {
    static let syntax = Syntax(
        "status", summary: "Tells how far a run on a store is.",
        discussion: "Reads the run folder beside the store (with --output: beside the new store) and changes nothing; "
            + "a run that is at work is not disturbed. The state is none, running, interrupted, or finished, as far as "
            + "the log of runs beside the store tells.",
        operands: [MigrationInput.store],
        options: [.value("--output", "NEW", "The new store that the run of STORE writes.")],
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
                "finished": status.finished?.moment,
            ], text: text(status))
        return .success
    }

    private func text(_ status: RunStatus) -> [String] {
        switch status.state {
        case .none: ["No run of \(store.filePath) is under way or unfinished."]
        case .finished:
            [
                "The last run of \(store.filePath) is finished"
                    + (status.finished.map { " since \($0.moment)" } ?? "") + "; none is under way."
            ]
        case .running: ["A run of \(store.filePath) is under way" + details(status)]
        case .interrupted where status.phase == .swap:
            [
                "A run of \(store.filePath) has done all but put the migrated store in place.",
                "The same migrate command, without --hold-swap, does that; --restart drops the run.",
            ]
        case .interrupted:
            [
                "A run of \(store.filePath) was interrupted" + details(status),
                "The same migrate command goes on with it; --restart drops it.",
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
