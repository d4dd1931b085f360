internal import FerryBase

/// One line that is drawn again in place, ten times a second at most: a bar over the whole command, and what is at work.
final class BarProgress: ProgressRenderer {
    private static let interval: UInt64 = 100_000_000
    private static let barWidth = 20
    /// Where the terminal does not tell its width.
    private static let usualWidth = 80

    private let console: Console
    private let state = Locked<(rate: ProgressRate, last: UInt64, isDrawn: Bool)>((ProgressRate(), 0, false))

    init(console: Console) { self.console = console }

    func plan(_ outline: RunOutline) { state.withLock { $0.rate.outline = outline } }

    func begin(_ phase: Phase, step: Int?) {
        state.withLock {
            $0.rate.step = step
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
            return self.line(state.rate, update)
        }
        // Back to the first column, and away with what a longer line left behind.
        if let line { console.draw("\r" + line + "\u{1b}[K") }
    }

    /// As many parts as fit, the first ones first: a line that reached the last column would scroll.
    private func line(_ rate: ProgressRate, _ update: ProgressUpdate) -> String {
        let width = (console.currentWidth ?? Self.usualWidth) - 1
        var parts = rate.parts(update)
        let filled = rate.fraction.map(Self.filled) ?? 0
        if let fraction = rate.fraction { parts.insert(Self.bar(fraction), at: 0) }
        var line = String((parts.first ?? "").prefix(width))
        for part in parts.dropFirst() where line.count + 2 + part.count <= width { line += "  " + part }
        // Behind the bracket; signs for colours are no columns, so they come last.
        guard filled > 0, line.count > filled else { return line }
        let done = line.dropFirst().prefix(filled)
        return "[" + console.painted(String(done), .good) + line.dropFirst(1 + filled)
    }

    private static func filled(_ fraction: Double) -> Int { min(barWidth, max(0, Int(fraction * Double(barWidth)))) }

    private static func bar(_ fraction: Double) -> String {
        let filled = filled(fraction)
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: barWidth - filled) + "] "
            + Quantity.decimal(min(100, fraction * 100), places: 0) + " %"
    }

    func warn(_ warning: FerryWarning) {
        finish()
        console.warn(warning.message)
    }

    func finish() {
        state.withLock { state in
            if state.isDrawn { console.draw("\r\u{1b}[K") }
            state.isDrawn = false
            state.last = 0
        }
    }
}
