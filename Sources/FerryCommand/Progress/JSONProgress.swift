internal import FerryBase

/// JSON Lines: the start of every phase and every update, at once, each in one write.
final class JSONProgress: ProgressRenderer {
    private let console: Console
    private let step = Locked<Int?>(nil)

    init(console: Console) { self.console = console }

    func begin(_ phase: Phase, step: Int?) {
        self.step.withLock { $0 = step }
        write(ProgressUpdate(phase: phase))
    }

    func show(_ update: ProgressUpdate) {
        // A room that tells the start of its phase once more says nothing new.
        let isNews = update.subject != nil || update.done != 0 || update.total != nil
        if isNews { write(update) }
    }

    private func write(_ update: ProgressUpdate) {
        let line = JSON.object([
            ("phase", .string(update.phase.rawValue)), ("subject", .string(update.subject)),
            ("done", .integer(update.done)), ("total", .integer(update.total)),
            ("step", .integer(step.withLock { $0 })), ("fraction", .number(update.fraction)),
            ("secondsLeft", .number(update.timeLeft?.inSeconds)),
        ])
        console.note(line)
    }

    /// A warning is a line of the same kind, so that every line can be read alike.
    func warn(_ warning: FerryWarning) {
        console.note(
            JSON.object([("warning", .string(warning.message)), ("detail", WarningDetails.json(warning))]))
    }
}
