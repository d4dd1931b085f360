package import FerryBase

/// The completed share of a run, and the time of the rest: done and total bytes of each piece, at the measured rates.
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
    /// The bytes of all items, and those left, by kind.
    private let all: [Double]
    private var rest: [Double]
    private var rates: WorkRates
    /// The item at work, and the time of its last progress.
    private var current: Int?
    private var last: UInt64 = 0
    private var largest = 0.0

    /// The most of an item that counts as done by its time alone, when it reports nothing.
    private static let mostUnreported = 0.9
    /// The assumed rest of work that has taken longer than expected, as a share of its time so far.
    private static let shareOfOverrun = 0.25

    package init(_ items: [WorkItem], machine: Double = 1) {
        self.items = items
        named = Dictionary(grouping: items.indices) { items[$0].subject ?? "" }
        statements = items.indices.filter { items[$0].isStatement }
        done = items.map { _ in 0 }
        all = items.bytesByKind
        rest = all
        rates = WorkRates(machine: machine, for: items)
    }

    private func isOf(_ phase: Phase, _ step: Int?, _ item: Int) -> Bool {
        phase == items[item].phase && (items[item].step == nil || step == nil || step == items[item].step)
    }

    private func first(of phase: Phase, _ step: Int?) -> Int? { items.indices.first { isOf(phase, step, $0) } }

    /// Begins a phase: all work before it is complete.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        if current == nil { last = now }
        guard let first = first(of: phase, step) else { return }
        complete(before: first, at: now)
        current = items.indices.first { isOf(phase, step, $0) && done[$0] < 1 } ?? first
    }

    /// Takes a report of the current phase; only verification does several pieces at one time.
    package mutating func advance(_ update: ProgressUpdate, step: Int?, at now: UInt64) {
        guard let item = item(of: update, step) else { return }
        if update.phase != .verify {
            complete(before: item, at: now)
        } else if current.map({ !isOf(.verify, step, $0) }) ?? true {
            complete(before: first(of: .verify, step) ?? item, at: now)
        }
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
        let known = rates
        let gained = shares.map { (kind: items[$0.item].kind, bytes: items[$0.item].bytes * $0.share) }
        let expected = gained.reduce(0) { $0 + known.seconds($1.kind, $1.bytes) }
        for (item, share) in shares { done[item] += share }
        for (kind, bytes) in gained { rest[kind.rawValue] -= bytes }
        guard expected > 0 else { return }
        let spent = Self.seconds(from: last, to: now)
        // Much work in almost no time is that of an earlier call.
        if expected < known.seconds(all) / 10 || spent > expected / 5 {
            for (kind, bytes) in gained {
                rates.learn(kind, bytes, seconds: known.seconds(kind, bytes) * spent / expected)
            }
        }
        last = now
    }

    // MARK: Answers

    private func left(of item: Int) -> Double { rates.seconds(items[item].kind, items[item].bytes * (1 - done[item])) }

    /// The completed share of the run, which never decreases; what reports nothing counts by its time.
    package mutating func fraction(at now: UInt64) -> Double {
        let total = rates.seconds(all)
        var rest = rates.seconds(rest)
        if let current, done[current] == 0 {
            rest -= min(Self.seconds(from: last, to: now), left(of: current) * Self.mostUnreported)
        }
        if total > 0 { largest = max(largest, min(1, 1 - rest / total)) }
        return largest
    }

    /// The seconds to the end.
    package func secondsLeft(at now: UInt64) -> Double {
        guard let current else { return rates.seconds(all) }
        let (since, own) = (Self.seconds(from: last, to: now), left(of: current))
        var slower = self
        // What the work has taken so far shows how slow the rest will be.
        if since > own, own > 0 {
            slower.rates.learn(items[current].kind, items[current].bytes * (1 - done[current]), seconds: since)
        }
        let others = slower.rates.seconds(rest) - slower.left(of: current)
        return max(0, others) + max(own - since, since * Self.shareOfOverrun)
    }

    private static func seconds(from start: UInt64, to now: UInt64) -> Double {
        Double(Clock.nanoseconds(from: start, to: now)) / 1e9
    }
}
