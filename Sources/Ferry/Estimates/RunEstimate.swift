package import FerryBase

/// The completed share of a run, and the time of the rest: the expected time of each piece, at the measured speed.
///
/// The caller passes the time; the estimate reads no clock.
package struct RunEstimate: Sendable {
    private let items: [WorkItem]
    /// The places of the items by name, and those of statements: a report comes for every few rows.
    private let named: [String: [Int]]
    private let statements: [Int]
    /// The completed share of each item, and the first place that is not known to be complete.
    private var done: [Double]
    private var firstOpen = 0
    /// The expected seconds of all items, and of what is left.
    private let all: Double
    private var rest: Double
    /// The speed of work that took so many seconds, of which others were expected; it begins as that of the machine.
    private var (spent, expected): (Double, Double)
    /// The item at work, and the time of its last progress.
    private var current: Int?
    private var last: UInt64 = 0
    private var largest = 0.0

    /// The most of an item that counts as done by its time alone, when it reports nothing.
    private static let mostUnreported = 0.9
    /// The assumed rest of work that has taken longer than expected, as a share of its time so far.
    private static let shareOfOverrun = 0.25
    /// The share of a run that counts for the speed beforehand: with less, the first moments would count for the whole
    /// run; with more, a slow machine would not show within a tenth of its run.
    private static let shareOfGuess = 0.03

    package init(_ items: [WorkItem], machine: Double = 1) {
        self.items = items
        named = Dictionary(grouping: items.indices) { items[$0].subject ?? "" }
        statements = items.indices.filter { items[$0].isStatement }
        done = items.map { _ in 0 }
        all = items.seconds
        rest = all
        (spent, expected) = (Self.shareOfGuess * all * machine, Self.shareOfGuess * all)
    }

    private func isOf(_ phase: Phase, _ step: Int?, _ item: Int) -> Bool {
        phase == items[item].phase && (items[item].step == nil || step == nil || step == items[item].step)
    }

    /// Begins a phase: all work before it is complete.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        if current == nil { last = now }
        guard let first = items.indices.first(where: { isOf(phase, step, $0) }) else { return }
        complete(before: first, at: now)
        current = items.indices.first { isOf(phase, step, $0) && done[$0] < 1 } ?? first
    }

    /// Takes a report of the current phase; only verification does several pieces at one time.
    package mutating func advance(_ update: ProgressUpdate, step: Int?, at now: UInt64) {
        guard let item = item(of: update, step) else { return }
        if update.phase != .verify { complete(before: item, at: now) }
        current = item
        let total = update.total.map(Double.init) ?? items[item].rows
        // Only the next piece shows that one is complete.
        let share = total > 0 ? min(0.99, Double(update.done) / total) : 0
        if share > done[item] { gain([(item, share - done[item])], at: now) }
    }

    private func item(of update: ProgressUpdate, _ step: Int?) -> Int? {
        guard let place = update.statement else {
            let name = update.subject ?? ""
            // Mappings that share a pass over a table report under the name of the first one.
            let first = name.firstRange(of: " and ").map { String(name[..<$0.lowerBound]) } ?? name
            return (named[name] ?? named[first])?.first { isOf(update.phase, step, $0) }
        }
        let statements = statements.filter { isOf(update.phase, step, $0) }
        // The first place is the preparation.
        return statements.isEmpty ? nil : statements[min(max(0, place.index - 1), statements.count - 1)]
    }

    private mutating func complete(before end: Int, at now: UInt64) {
        guard end > firstOpen else { return }
        let open = (firstOpen..<end).filter { done[$0] < 1 }
        firstOpen = end
        if !open.isEmpty { gain(open.map { ($0, 1 - done[$0]) }, at: now) }
    }

    /// Counts completed shares of items, and the time since the last progress as theirs.
    private mutating func gain(_ shares: [(item: Int, share: Double)], at now: UInt64) {
        let gained = shares.reduce(0) { $0 + items[$1.item].seconds * $1.share }
        for (item, share) in shares { done[item] += share }
        rest -= gained
        guard gained > 0 else { return }
        let time = Self.seconds(from: last, to: now)
        // Much work in almost no time is that of an earlier call.
        if gained < all / 10 || time > gained * slowness / 5 {
            expected += gained
            spent += time
        }
        last = now
    }

    // MARK: Answers

    /// The time of work for each second that was expected.
    private var slowness: Double { expected > 0 ? spent / expected : 1 }

    private func left(of item: Int) -> Double { items[item].seconds * (1 - done[item]) }

    /// The completed share of the run, which never decreases; what reports nothing counts by its time.
    package mutating func fraction(at now: UInt64) -> Double {
        var rest = rest
        if let current, done[current] == 0 {
            rest -= min(Self.seconds(from: last, to: now) / slowness, left(of: current) * Self.mostUnreported)
        }
        if all > 0 { largest = max(largest, min(1, 1 - rest / all)) }
        return largest
    }

    /// The seconds to the end.
    package func secondsLeft(at now: UInt64) -> Double {
        guard let current else { return all * slowness }
        let (since, own) = (Self.seconds(from: last, to: now), left(of: current) * slowness)
        var slower = self
        // What the work has taken so far shows how slow the rest will be.
        if since > own, own > 0 {
            slower.expected += left(of: current)
            slower.spent += since
        }
        return max(0, rest - left(of: current)) * slower.slowness + max(own - since, since * Self.shareOfOverrun)
    }

    private static func seconds(from start: UInt64, to now: UInt64) -> Double {
        Double(Clock.nanoseconds(from: start, to: now)) / 1e9
    }
}
