internal import Ferry
internal import FerryBase

/// Shows how far a run has come, on standard error.
protocol ProgressRenderer: Sendable {
    /// What is to be done is known.
    func plan(_ outline: RunOutline)
    /// A phase begins; nothing of it has been done yet. The step counts from 1.
    func begin(_ phase: Phase, step: Int?)
    /// Takes one update, on the thread that does the work.
    func show(_ update: ProgressUpdate)
    /// Tells a warning, apart from what is drawn.
    func warn(_ warning: FerryWarning)
    /// Leaves the terminal ready for ordinary text.
    func finish()
}

/// What a run is going to do, as far as its progress tells it.
struct RunOutline: Sendable {
    var steps: Int
    /// In bytes.
    var memoryLimit: Int
    /// Whether it all happens on a copy, and nothing is put in the store's place.
    var isRehearsal = false
}

extension ProgressRenderer {
    func plan(_ outline: RunOutline) {}
    func finish() {}
}

/// The forms of `--progress`.
enum ProgressForm: String, CaseIterable, Sendable {
    case auto, bar, plain, json, none

    func renderer(on console: Console) -> any ProgressRenderer {
        switch self {
        case .auto where console.isQuiet: NoProgress(console: console)
        case .auto: (console.isTerminal ? ProgressForm.bar : .plain).renderer(on: console)
        case .bar: BarProgress(console: console)
        case .plain: PlainProgress(console: console)
        case .json: JSONProgress(console: console)
        case .none: NoProgress(console: console)
        }
    }

    static let option = Syntax.Option.choice(
        "--progress", "FORM", of: ProgressForm.allCases,
        "auto (default: a bar on a terminal, else plain), bar, plain (a line every 10 s), json (JSON Lines), none. "
            + "On standard error.")
}

/// Warnings alone.
private struct NoProgress: ProgressRenderer {
    let console: Console

    func begin(_ phase: Phase, step: Int?) {}
    func show(_ update: ProgressUpdate) {}
    func warn(_ warning: FerryWarning) { console.warn(warning.message) }
}

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
            "phase": update.phase.rawValue, "subject": update.subject, "done": update.done, "total": update.total,
            "step": step.withLock { $0 }, "fraction": update.fraction, "secondsLeft": update.timeLeft?.inSeconds,
        ])
        console.note(line)
    }

    /// A warning is a line of the same kind, so that every line can be read alike.
    func warn(_ warning: FerryWarning) {
        console.note(
            JSON.object(["warning": warning.message, "detail": WarningDetails.json(warning)]))
    }
}

/// The speed of the phase and subject at work, and the text of one progress line.
struct ProgressRate {
    private var phase: Phase?
    private var subject: String?
    private var start: UInt64 = 0
    private var startDone: Int64 = 0
    private var now: UInt64 = 0
    private var secondsLeft: Double?
    /// Of the whole command; nil while it is not known.
    private(set) var fraction: Double?
    var step: Int?
    var outline: RunOutline?

    /// Takes an update; a new phase or subject, or work that starts again, starts a new measurement.
    mutating func take(_ update: ProgressUpdate, at now: UInt64) {
        if phase != update.phase || subject != update.subject || update.done < startDone {
            phase = update.phase
            subject = update.subject
            start = now
            startDone = update.done
        }
        self.now = now
        if let fraction = update.fraction { (self.fraction, secondsLeft) = (fraction, update.timeLeft?.inSeconds) }
    }

    /// Rows (bytes while a snapshot is taken) in a second; nil in the first half second, when it means nothing yet.
    func perSecond(_ update: ProgressUpdate) -> Double? {
        let seconds = Double(Clock.nanoseconds(from: start, to: now)) / 1e9
        guard seconds >= 0.5, update.done > startDone else { return nil }
        return Double(update.done - startDone) / seconds
    }

    /// What one line tells, what matters most first: step and phase, speed, time left, what is at work, memory.
    func parts(_ update: ProgressUpdate) -> [String] {
        var parts: [String] = []
        if let step, let steps = outline?.steps, steps > 1 { parts.append("step \(step) of \(steps)") }
        parts.append(update.phase.label(inRehearsal: outline?.isRehearsal == true))
        let countsBytes = update.phase == .snapshot
        if let rate = perSecond(update).map(Quantity.whole) {
            parts.append((countsBytes ? Quantity.sizeText(rate) : rate.counting("row")) + "/s")
        }
        if let left = secondsLeft { parts.append("\(Quantity.durationText(seconds: left)) left") }
        if let resident = ResidentMemory.bytes() {
            parts.append(
                "memory " + Quantity.sizeText(resident)
                    + (outline.map { " of \(Quantity.sizeText(Int64($0.memoryLimit)))" } ?? ""))
        }
        if let subject = update.subject { parts.append(subject) }
        if let total = update.total, total > 0 {
            parts.append(
                countsBytes
                    ? "\(Quantity.sizeText(update.done)) of \(Quantity.sizeText(total))"
                    : "\(Quantity.grouped(update.done)) of \(total.counting("row"))")
        } else if update.done > 0 {
            parts.append(update.done.counting("row"))
        }
        return parts
    }
}

extension Phase {
    /// The phase in a word or two for people.
    ///
    /// A rehearsal has its swap, too, in the place of a copy: that it does not touch the store is to be seen.
    func label(inRehearsal isRehearsal: Bool = false) -> String {
        switch self {
        case .cleanUp: "clean-up"
        case .swap where isRehearsal: "swap of the copy"
        default: rawValue
        }
    }
}
