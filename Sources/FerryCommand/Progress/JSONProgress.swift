internal import FerryBase

/// JSON Lines: every update, at once, in one write.
struct JSONProgress: ProgressRenderer {
    let console: Console

    func show(_ update: ProgressUpdate) {
        let line = JSON.object([
            ("phase", .string(update.phase.rawValue)), ("subject", .string(update.subject)),
            ("done", .integer(update.done)), ("total", .integer(update.total)),
        ])
        console.note(line.line)
    }

    func finish() {}
}
