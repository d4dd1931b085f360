internal import FerryBase
internal import Synchronization

/// Lines for a log: one when a phase starts, then at most one every ten seconds.
final class PlainProgress: ProgressRenderer {
    private static let interval: UInt64 = 10_000_000_000

    private let console: Console
    private let state = Mutex<(phase: Phase?, rate: ProgressRate, last: UInt64)>((nil, ProgressRate(), 0))

    init(console: Console) { self.console = console }

    func show(_ update: ProgressUpdate) {
        let now = Clock.nanoseconds()
        let line = state.withLock { state -> String? in
            state.rate.take(update, at: now)
            guard state.phase != update.phase || now - state.last >= PlainProgress.interval else { return nil }
            state.phase = update.phase
            state.last = now
            return state.rate.text(update)
        }
        if let line { console.note(line) }
    }

    func finish() {}
}
