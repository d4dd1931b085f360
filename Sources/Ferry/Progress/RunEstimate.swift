internal import FerryBase

/// How much of a run is done, and how long the rest takes.
///
/// A run is a list of pieces, each of parts with the seconds that ``RunWork`` expects of them. What was measured in this
/// call tells how much longer or shorter than expected the rest is: that of the piece at work most, then that of the same
/// phase in earlier steps, then that of all. It is given the time, and reads no clock.
package struct RunEstimate {
    /// What has to come by before a machine is taken to be as it was measured, as a share of the whole run: less would let
    /// the first moments speak for all, more would keep a slow machine from being seen by a tenth of its run.
    private static let shareForMachine = 0.03
    /// The same of what the phases of earlier steps tell, and of what a piece tells of its own rest.
    private static let shareForPhase = 0.5
    private static let shareForPiece = 0.25

    /// Seconds that were taken where so many were expected.
    private struct Measured {
        var seconds = 0.0
        var expected = 0.0

        /// How many times as long as expected it takes, where so much of the expected is to be seen before that counts half.
        func factor(after expected: Double, else usual: Double) -> Double {
            guard expected + self.expected > 0 else { return usual }
            return (seconds + expected * usual) / (self.expected + expected)
        }
    }

    private var pieces: [RunWork.Piece]
    /// What is done of each part of the piece at work, from 0 to 1.
    private var done: [Double] = []
    /// The piece at work; nil between pieces.
    private var current: Int?
    private var start: UInt64 = 0
    /// When something of the piece was last seen to be done, and how many of its expected seconds were by then.
    private var last: (time: UInt64, expected: Double) = (0, 0)
    /// How many of its expected seconds are not measured; nil until something of it is done.
    private var atStart: Double?
    private var measured: [Phase: Measured] = [:]
    /// Nothing before this one is done any more.
    private var next = 0
    private var largest = 0.0

    package init(_ work: RunWork) { pieces = work.pieces }

    private var total: Double { pieces.map(\.seconds).reduce(0, +) }

    // MARK: What is told

    /// A phase begins; what came before it is done.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        if let current, pieces[current].covers(phase, step: step) { return }
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

    /// So many rows or bytes of a subject of the phase at work are done; of how many in all, where that is known by now.
    package mutating func advance(_ subject: String?, _ count: Int64, of total: Int64?, at now: UInt64) {
        guard let current, let part = pieces[current].part(subject) else { return }
        if total == nil, pieces[current].parts[part].needsTotal { return }
        let isInOrder = pieces[current].isInOrder
        if let total, total >= 0 { pieces[current].parts[part].recount(Double(total)) }
        let known = pieces[current].parts[part].count
        let expected = known > 0 ? known : Double(total ?? 0)
        // The end of a part is told by the next one.
        done[part] = max(done[part], expected > 0 ? min(0.99, Double(count) / expected) : 0)
        if isInOrder { for earlier in 0..<part { done[earlier] = 1 } }
        let sum = doneSeconds
        guard sum > last.expected else { return }
        if atStart == nil {
            // Much of it in next to no time is what an earlier call did: only what follows is measured.
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

    // MARK: What is asked

    /// How much of the run is done.
    package var fraction: Double { max(largest, fractionNow) }

    private var fractionNow: Double {
        let total = total
        guard total > 0 else { return 0 }
        let before = pieces[..<next].map(\.seconds).reduce(0, +)
        return min(1, (before + (current == nil ? 0 : doneSeconds)) / total)
    }

    /// The seconds to the end; nil while nothing was measured.
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
            let foreseen = (whole - last.expected) * own.factor(after: whole * Self.shareForPiece, else: usual)
            // What takes longer than foreseen is told to be about to end, for nothing else is known.
            left = max(foreseen - Self.seconds(from: last.time, to: now), foreseen / 20)
        }
        guard all.expected > 0 else { return nil }
        return rest.reduce(left) { $0 + $1.seconds * factor($1.phase, all) }
    }

    private func factor(_ phase: Phase, _ all: Measured) -> Double {
        let machine = all.factor(after: total * Self.shareForMachine, else: 1)
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
