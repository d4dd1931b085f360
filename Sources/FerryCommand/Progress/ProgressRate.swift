internal import Ferry
internal import FerryBase

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
