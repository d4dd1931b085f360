internal import Ferry
internal import FerryBase

struct RunOutline: Sendable {
    var steps: Int
    var memoryLimit: Int
    var isRehearsal = false
}

enum ProgressForm: String, Sendable {
    case auto, bar, plain, json, none

    init(_ arguments: Arguments) throws(FerryError) {
        self = try arguments.choice("--progress") ?? .auto
    }

    fileprivate var interval: UInt64 { self == .bar ? 100_000_000 : 10_000_000_000 }
}

/// Shows the progress of a run on standard error, on the thread that does the work.
///
/// A bar is one line for the whole command, redrawn in place at most ten times a second. A log gets a line at the start
/// of each phase, then a line every ten seconds. JSON Lines have the start of each phase and each update at once.
final class ProgressRenderer: Sendable {
    private static let barWidth = 20
    private static let usualWidth = 80

    private let console: Console
    private let form: ProgressForm
    private let state = Locked<(rate: ProgressRate, last: UInt64, isDrawn: Bool)>((ProgressRate(), 0, false))

    init(_ form: ProgressForm, on console: Console) {
        self.console = console
        self.form = form != .auto ? form : console.isQuiet ? .none : console.isTerminal ? .bar : .plain
    }

    func plan(_ outline: RunOutline) { state.withLock { $0.rate.outline = outline } }

    /// Begins a phase, of which no work is done yet; `step` counts from 1.
    func begin(_ phase: Phase, step: Int?) {
        let label = state.withLock { state in
            state.rate.step = step
            state.last = form == .bar ? 0 : Clock.nanoseconds()
            return phase.label(inRehearsal: state.rate.outline?.isRehearsal == true)
        }
        switch form {
        case .bar: show(ProgressUpdate(phase: phase))
        case .plain: console.note(step.map { "step \($0): \(label)" } ?? label)
        case .json: write(ProgressUpdate(phase: phase))
        case .auto, .none: break
        }
    }

    func show(_ update: ProgressUpdate) {
        switch form {
        case .bar:
            // Returns to the first column; the escape sequence clears the rest of a longer line.
            if let line = due(update, bar) { console.draw("\r" + line + "\u{1b}[K") }
        case .plain:
            if let line = due(update, { $0.parts($1).joined(separator: "  ") }) { console.note(line) }
        case .json:
            // An update that repeats the start of its phase has no news.
            if update.subject != nil || update.done != 0 || update.total != nil { write(update) }
        case .auto, .none: break
        }
    }

    private func due(_ update: ProgressUpdate, _ line: (ProgressRate, ProgressUpdate) -> String) -> String? {
        let now = Clock.nanoseconds()
        return state.withLock { state in
            state.rate.take(update, at: now)
            let isAtEnd = form == .bar && update.done == update.total
            guard isAtEnd || Clock.nanoseconds(from: state.last, to: now) >= form.interval else { return nil }
            state.last = now
            state.isDrawn = form == .bar
            return line(state.rate, update)
        }
    }

    func warn(_ warning: FerryWarning) {
        finish()
        // In JSON Lines a warning is an object, too, so that each line can be parsed.
        if form == .json { return console.note(["warning": warning.message, "detail": warning.json]) }
        console.warn(warning.message)
    }

    func finish() {
        state.withLock { state in
            guard state.isDrawn else { return }
            console.draw("\r\u{1b}[K")
            (state.last, state.isDrawn) = (0, false)
        }
    }

    /// The parts that fit, in their order: a line that reached the last column would scroll.
    private func bar(_ rate: ProgressRate, _ update: ProgressUpdate) -> String {
        let width = (console.currentWidth ?? Self.usualWidth) - 1
        var parts = rate.parts(update)
        if let fraction = rate.fraction {
            // Full at 100%, which only the end has.
            let percent = min(100, max(0, Int(fraction * 100)))
            let filled = percent * Self.barWidth / 100
            let signs = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.barWidth - filled)
            parts.insert("[\(signs)] \(percent)%", at: 0)
        }
        var line = String((parts.first ?? "").prefix(width))
        for part in parts.dropFirst() where line.count + 2 + part.count <= width { line += "  " + part }
        return line
    }

    private func write(_ update: ProgressUpdate) {
        console.note([
            "phase": update.phase.rawValue, "subject": update.subject, "done": update.done, "total": update.total,
            "step": state.withLock { $0.rate.step }, "fraction": update.fraction,
            "secondsLeft": update.timeLeft?.inSeconds,
        ])
    }
}

/// The speed of the current phase and subject, and the parts of a progress line.
struct ProgressRate {
    private var phase: Phase?
    private var subject: String?
    private var start: UInt64 = 0
    private var startDone: Int64 = 0
    private var now: UInt64 = 0
    private var secondsLeft: Double?
    /// The fraction of the whole command; nil while unknown.
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

    /// Rows (for a snapshot bytes) in a second; nil in the first half second, which is too short to measure.
    func perSecond(_ update: ProgressUpdate) -> Double? {
        let seconds = Double(Clock.nanoseconds(from: start, to: now)) / 1e9
        guard seconds >= 0.5, update.done > startDone else { return nil }
        return Double(update.done - startDone) / seconds
    }

    /// The parts of a line, the most important ones first: step and phase, speed, time left, subject, memory.
    func parts(_ update: ProgressUpdate) -> [String] {
        var parts: [String] = []
        if let step, let steps = outline?.steps, steps > 1 { parts.append("step \(step) of \(steps)") }
        parts.append(update.phase.label(inRehearsal: outline?.isRehearsal == true))
        let countsBytes = update.phase == .snapshot
        let unit = update.phase == .swap ? "page" : "row"
        if update.phase != .swap, let rate = perSecond(update).map(Quantity.whole) {
            parts.append((countsBytes ? rate.bytesInUnits : rate.counting("row")) + "/s")
        }
        if let left = secondsLeft { parts.append("\(Quantity.durationText(seconds: left)) left") }
        if let resident = ResidentMemory.bytes() {
            parts.append(
                "memory " + resident.bytesInUnits
                    + (outline.map { " of \(Int64($0.memoryLimit).bytesInUnits)" } ?? ""))
        }
        if let subject = update.subject { parts.append(subject) }
        if let total = update.total, total > 0 {
            parts.append(
                countsBytes
                    ? "\(update.done.bytesInUnits) of \(total.bytesInUnits)"
                    : "\(update.done.grouped) of \(total.counting(unit))")
        } else if update.done > 0 {
            parts.append(update.done.counting(unit))
        }
        return parts
    }
}

extension Phase {
    /// The phase in a word or two; a rehearsal swaps a copy, and its label says that the store stays unchanged.
    func label(inRehearsal isRehearsal: Bool = false) -> String {
        switch self {
        case .cleanUp: "clean-up"
        case .swap where isRehearsal: "swap of the copy"
        default: rawValue
        }
    }
}
