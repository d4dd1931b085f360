internal import FerryBase
internal import Synchronization

/// One line that is drawn again in place, ten times a second at most.
final class BarProgress: ProgressRenderer {
    private static let interval: UInt64 = 100_000_000
    /// Short enough that a usual terminal does not break the line.
    private static let width = 118

    private let console: Console
    private let state = Mutex<(rate: ProgressRate, step: Int?, last: UInt64, isDrawn: Bool)>(
        (ProgressRate(), nil, 0, false))

    init(console: Console) { self.console = console }

    func begin(_ phase: Phase, step: Int?) {
        state.withLock {
            $0.step = step
            $0.last = 0
        }
        show(ProgressUpdate(phase: phase))
    }

    func show(_ update: ProgressUpdate) {
        let now = Clock.nanoseconds()
        let line = state.withLock { state -> String? in
            state.rate.take(update, at: now)
            guard Clock.nanoseconds(from: state.last, to: now) >= BarProgress.interval || update.done == update.total
            else { return nil }
            state.last = now
            state.isDrawn = true
            return (state.step.map { "step \($0)  " } ?? "") + state.rate.text(update)
        }
        // Back to the first column, and away with what a longer line left behind.
        if let line { console.draw("\r" + line.prefix(BarProgress.width) + "\u{1b}[K") }
    }

    func finish() {
        let wasDrawn = state.withLock { state in
            defer { state.isDrawn = false }
            return state.isDrawn
        }
        if wasDrawn { console.draw("\r\u{1b}[K") }
    }
}
