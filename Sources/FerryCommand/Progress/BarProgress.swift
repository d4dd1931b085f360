internal import FerryBase
internal import Synchronization

/// One line that is drawn again in place, ten times a second at most.
final class BarProgress: ProgressRenderer {
    private static let interval: UInt64 = 100_000_000

    private let console: Console
    private let state = Mutex<(phase: Phase?, rate: ProgressRate, last: UInt64, isDrawn: Bool)>(
        (nil, ProgressRate(), 0, false))

    init(console: Console) { self.console = console }

    func show(_ update: ProgressUpdate) {
        let now = Clock.nanoseconds()
        let line = state.withLock { state -> String? in
            state.rate.take(update, at: now)
            let isDue = now - state.last >= BarProgress.interval || update.done == update.total
            guard state.phase != update.phase || isDue else { return nil }
            state.phase = update.phase
            state.last = now
            state.isDrawn = true
            return state.rate.text(update)
        }
        // Back to the first column, and away with what a longer line left behind.
        if let line { console.draw("\r" + line.prefix(118) + "\u{1b}[K") }
    }

    func finish() {
        let wasDrawn = state.withLock { state in
            defer { state.isDrawn = false }
            return state.isDrawn
        }
        if wasDrawn { console.draw("\r\u{1b}[K") }
    }
}
