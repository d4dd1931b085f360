internal import FerryBase

/// Lines for a log: one when a phase starts, then one every ten seconds.
final class PlainProgress: ProgressRenderer {
    private static let interval: UInt64 = 10_000_000_000

    private let console: Console
    private let state = Locked<(rate: ProgressRate, last: UInt64)>((ProgressRate(), 0))

    init(console: Console) { self.console = console }

    func plan(_ outline: RunOutline) { state.withLock { $0.rate.outline = outline } }

    func begin(_ phase: Phase, step: Int?) {
        let label = state.withLock { state in
            state.last = Clock.nanoseconds()
            state.rate.step = step
            return phase.label(inRehearsal: state.rate.outline?.isRehearsal == true)
        }
        console.note(step.map { "step \($0): \(label)" } ?? label)
    }

    func show(_ update: ProgressUpdate) {
        let now = Clock.nanoseconds()
        let line = state.withLock { state -> String? in
            state.rate.take(update, at: now)
            guard Clock.nanoseconds(from: state.last, to: now) >= PlainProgress.interval else { return nil }
            state.last = now
            return state.rate.parts(update).joined(separator: "  ")
        }
        if let line { console.note(line) }
    }

    func warn(_ warning: FerryWarning) { console.warn(warning.message) }
}
