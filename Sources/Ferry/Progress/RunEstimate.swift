package import FerryBase

/// Estimates the completed share of a run, and the time of the rest.
///
/// A run is a list of pieces with parts, for which ``RunWork`` expects a number of seconds each. The times measured in
/// this call scale the expected rest: most of all those of the current piece, then those of its phase in earlier steps,
/// then all others. The caller passes the time; the estimate reads no clock.
package struct RunEstimate {
    /// The expected work, as a share of the whole run, whose measured speed counts half: with less, the first moments
    /// would count for the whole run; with more, a slow machine would not show within a tenth of its run.
    private static let shareForMachine = 0.03
    /// The same weight for the phase in earlier steps, and for the current piece's own rest.
    private static let shareForPhase = 0.5
    private static let shareForPiece = 0.25
    /// The assumed rest of a statement that has taken longer than expected, as a share of its time so far.
    private static let shareOfOverrun = 0.25

    /// The measured seconds of work, and its expected seconds.
    private struct Measured {
        var seconds = 0.0
        var expected = 0.0

        /// The ratio of measured to expected time; `usual` counts as much as `expected` seconds of measured work.
        func factor(after expected: Double, else usual: Double) -> Double {
            guard expected + self.expected > 0 else { return usual }
            return (seconds + expected * usual) / (self.expected + expected)
        }
    }

    private var pieces: [RunWork.Piece]
    /// The completed share of each part of the current piece, from 0 to 1.
    private var done: [Double] = []
    /// The index of the current piece; nil between pieces.
    private var current: Int?
    /// The index of the statement that runs in the current piece, if it reports statements.
    private var running: Int?
    private var start: UInt64 = 0
    /// The time of the last progress in the piece, and the expected seconds of the work completed by then.
    private var last: (time: UInt64, expected: Double) = (0, 0)
    /// The expected seconds that are not measured; nil before the first progress in the piece.
    private var atStart: Double?
    private var measured: [Phase: Measured] = [:]
    /// The index of the first piece that is not complete.
    private var next = 0
    private var largest = 0.0

    /// The assumed time of work before anything is measured, relative to that of ``WorkCosts``.
    private let machine: Double

    package init(_ work: RunWork, machine: Double = 1) { (pieces, self.machine) = (work.pieces, machine) }

    private var total: Double { pieces.map(\.seconds).reduce(0, +) }

    /// Begins a phase; all earlier pieces count as complete.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        if let current, pieces[current].covers(phase, step: step) {
            if phase == .swap, running != nil { beginCommit(at: now) }
            return
        }
        running = nil
        finish(at: now)
        current = pieces.indices.dropFirst(next).first { pieces[$0].covers(phase, step: step) }
        if let current {
            next = current
            done = pieces[current].parts.map { _ in 0 }
        } else if phase.order > Phase.verify.order {
            next = pieces.count
        }
        (start, last, atStart) = (now, (now, 0), nil)
    }

    /// Takes the number of completed rows or bytes of a subject in the current phase, and the total if known.
    package mutating func advance(_ subject: String?, _ count: Int64, of total: Int64?, at now: UInt64) {
        guard let current, let part = pieces[current].part(subject), pieces[current].parts[part].statement == nil else {
            return
        }
        if total == nil, pieces[current].parts[part].needsTotal { return }
        let isInOrder = pieces[current].isInOrder
        if let total, total >= 0 { pieces[current].parts[part].recount(Double(total)) }
        let known = pieces[current].parts[part].count
        let expected = known > 0 ? known : Double(total ?? 0)
        // Only the next part shows that a part is complete.
        done[part] = max(done[part], expected > 0 ? min(0.99, Double(count) / expected) : 0)
        if isInOrder { for earlier in 0..<part { done[earlier] = 1 } }
        measure(at: now)
    }

    /// Takes the statement that runs now; the statements before it are complete.
    package mutating func advance(to statement: ProgressUpdate.StatementPlace, at now: UInt64) {
        guard let current, let part = pieces[current].part(statement) else { return }
        running = part
        for earlier in 0..<part { done[earlier] = 1 }
        measure(at: now)
    }

    /// After the last statement and its checks, only COMMIT is left.
    private mutating func beginCommit(at now: UInt64) {
        running = nil
        for part in done.indices.dropLast() { done[part] = 1 }
        measure(at: now)
    }

    private mutating func measure(at now: UInt64) {
        let sum = doneSeconds
        guard let current, sum > last.expected else { return }
        if atStart == nil {
            // Much work in almost no time is that of an earlier call: the measurement begins after it.
            let isResumed = sum > pieces[current].seconds / 10 && Self.seconds(from: start, to: now) < sum / 5
            atStart = isResumed ? sum : 0
            if isResumed { start = now }
        }
        last = (now, sum)
        largest = max(largest, fractionNow)
    }

    private mutating func finish(at now: UInt64) {
        guard let current else { return }
        let piece = pieces[current]
        measured[piece.phase, default: Measured()].seconds += Self.seconds(from: start, to: now)
        measured[piece.phase, default: Measured()].expected += max(0, piece.seconds - (atStart ?? 0))
        self.current = nil
        next = current + 1
        largest = max(largest, fractionNow)
    }

    /// The completed share of the run.
    package var fraction: Double { max(largest, fractionNow) }

    private var fractionNow: Double {
        let total = total
        guard total > 0 else { return 0 }
        let before = pieces[..<next].map(\.seconds).reduce(0, +)
        return min(1, (before + (current == nil ? 0 : doneSeconds)) / total)
    }

    /// The seconds to the end; nil before the first measurement.
    package func secondsLeft(at now: UInt64) -> Double? {
        var all = Measured()
        for part in measured.values {
            all.seconds += part.seconds
            all.expected += part.expected
        }
        var rest = pieces[next...]
        var left = 0.0
        if let current {
            rest = rest.dropFirst()
            let own = Measured(
                seconds: Self.seconds(from: start, to: last.time),
                expected: max(0, last.expected - (atStart ?? 0)))
            all.seconds += own.seconds
            all.expected += own.expected
            let whole = pieces[current].seconds
            let usual = factor(pieces[current].phase, all)
            let since = Self.seconds(from: last.time, to: now)
            let foreseen = (whole - last.expected) * own.factor(after: whole * Self.shareForPiece, else: usual)
            // Work that takes longer than estimated counts as almost complete, since no better estimate is known.
            left = max(foreseen - since, foreseen / 20)
            if let running {
                left = self.left(after: running, since, own, whole: whole, usual: usual) ?? left
            }
        }
        guard all.expected > 0 else { return nil }
        return rest.reduce(left) { $0 + $1.seconds * factor($1.phase, all) }
    }

    /// The seconds left in a piece whose running statement has taken longer than expected; nil if it has not.
    ///
    /// What the statement has taken so far then shows how slow the others will be.
    private func left(
        after running: Int, _ since: Double, _ own: Measured, whole: Double, usual: Double
    ) -> Double? {
        guard let current else { return nil }
        let expected = pieces[current].parts[running].seconds
        guard since > expected * own.factor(after: whole * Self.shareForPiece, else: usual) else { return nil }
        var own = own
        own.seconds += since
        own.expected += expected
        let rest = max(0, whole - last.expected - expected)
        // The statement is not at its end, so that the measured ratio can only rise.
        let factor = max(own.factor(after: whole * Self.shareForPiece, else: usual), own.factor(after: 0, else: usual))
        return rest * factor + since * Self.shareOfOverrun
    }

    private func factor(_ phase: Phase, _ all: Measured) -> Double {
        let machine = all.factor(after: total * Self.shareForMachine, else: self.machine)
        guard let phase = measured[phase] else { return machine }
        return phase.factor(after: phase.expected * Self.shareForPhase, else: machine)
    }

    private var doneSeconds: Double {
        guard let current else { return 0 }
        return zip(done, pieces[current].parts).reduce(0) { $0 + $1.0 * $1.1.seconds }
    }

    private static func seconds(from start: UInt64, to now: UInt64) -> Double {
        Double(Clock.nanoseconds(from: start, to: now)) / 1e9
    }
}
