internal import Ferry
internal import FerryBase

/// The speed of the phase and subject at work, and the text of one progress line.
struct ProgressRate {
    private var phase: Phase?
    private var subject: String?
    private var start: UInt64 = 0
    private var startDone: Int64 = 0
    private var now: UInt64 = 0
    private var startBytes: Int64?
    private let files = FileLayer()

    /// Takes an update; a new phase or subject, or work that starts again, starts a new measurement.
    mutating func take(_ update: ProgressUpdate, at now: UInt64) {
        if phase != update.phase || subject != update.subject || update.done < startDone {
            phase = update.phase
            subject = update.subject
            start = now
            startDone = update.done
            startBytes = ProcessBytes.now(files: files)?.written
        }
        self.now = now
    }

    /// Rows (bytes while a snapshot is taken) in a second; nil in the first half second, when it means nothing yet.
    func perSecond(_ update: ProgressUpdate) -> Double? {
        let seconds = Double(Clock.nanoseconds(from: start, to: now)) / 1e9
        guard seconds >= 0.5, update.done > startDone else { return nil }
        return Double(update.done - startDone) / seconds
    }

    /// Bytes written in a second, journals and temporary files included; nil as ``perSecond(_:)``.
    private var writtenPerSecond: Double? {
        let seconds = Double(Clock.nanoseconds(from: start, to: now)) / 1e9
        guard seconds >= 0.5, let startBytes, let written = ProcessBytes.now(files: files)?.written else { return nil }
        return Double(written - startBytes) / seconds
    }

    /// Phase, subject, per cent, speed, bytes written, time left, memory.
    func text(_ update: ProgressUpdate) -> String {
        let countsBytes = update.phase == .snapshot
        var parts = [update.phase.label + (update.subject.map { " \($0)" } ?? "")]
        if let total = update.total, total > 0 {
            parts.append("\(Quantity.decimal(100 * Double(update.done) / Double(total), places: 1)) %")
        }
        if update.done > 0 || (update.total ?? 0) > 0 {
            parts.append(countsBytes ? Quantity.sizeText(update.done) : "\(Quantity.grouped(update.done)) rows")
        }
        if let rate = perSecond(update) {
            let whole = Quantity.whole(rate)
            parts.append((countsBytes ? Quantity.sizeText(whole) : "\(Quantity.grouped(whole)) rows") + "/s")
            if !countsBytes, let written = writtenPerSecond {
                parts.append("\(Quantity.sizeText(Quantity.whole(written)))/s")
            }
            if let total = update.total, total > update.done {
                parts.append("\(Quantity.durationText(seconds: Double(total - update.done) / rate)) left")
            }
        }
        if let resident = ResidentMemory.bytes() { parts.append("memory \(Quantity.sizeText(resident))") }
        return parts.joined(separator: "  ")
    }
}

extension Phase {
    /// The phase in a word or two for people.
    var label: String { self == .cleanUp ? "clean-up" : rawValue }
}
