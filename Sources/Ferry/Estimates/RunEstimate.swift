package import FerryBase

/// A piece of a run's work, with the name that its progress reports have.
package struct WorkItem: Sendable {
    var phase: Phase
    /// Nil for work that belongs to no step.
    var step: Int?
    var subject: String?
    package var kind: WorkKind
    /// The bytes that it reads and writes.
    package var bytes: Double
    /// The rows that its reports count, where they do not say of how many; 0 if unknown.
    var rows: Double
    /// Whether it is a statement of a transaction, which reports its place.
    package var isStatement = false

    package init(
        _ phase: Phase, step: Int? = nil, _ subject: String? = nil, _ kind: WorkKind, bytes: Double, rows: Double = 0
    ) {
        (self.phase, self.step, self.subject, self.kind) = (phase, step, subject, kind)
        (self.bytes, self.rows) = (max(0, bytes), rows)
    }

    fileprivate func isOf(_ phase: Phase, _ step: Int?) -> Bool {
        phase == self.phase && (self.step == nil || step == nil || step == self.step)
    }
}

extension [WorkItem] {
    /// The bytes of each kind of work, by its number.
    var bytesByKind: [Double] {
        reduce(into: WorkKind.allCases.map { _ in 0 }) { $0[$1.kind.rawValue] += $1.bytes }
    }
}

/// The completed share of a run, and the time of the rest: done and total bytes of each piece, at the measured rates.
///
/// The caller passes the time; the estimate reads no clock.
package struct RunEstimate: Sendable {
    private let items: [WorkItem]
    /// The places of the items by name, and those of statements: a report comes for every few rows.
    private let named: [String: [Int]]
    private let statements: [Int]
    /// The completed share of each item; all before the first open one are complete.
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

    /// Begins a phase: all work before it is complete.
    package mutating func begin(_ phase: Phase, step: Int?, at now: UInt64) {
        if current == nil { last = now }
        guard let first = first(of: phase, step) else { return }
        complete(before: first, at: now)
        current = items.indices.first { items[$0].isOf(phase, step) && done[$0] < 1 } ?? first
    }

    private func first(of phase: Phase, _ step: Int?) -> Int? {
        items.indices.first { items[$0].isOf(phase, step) }
    }

    /// Takes a report of the current phase; only verification does several pieces at one time.
    package mutating func advance(_ update: ProgressUpdate, step: Int?, at now: UInt64) {
        guard let item = item(of: update, step) else { return }
        if item != current {
            complete(before: update.phase == .verify ? first(of: .verify, step) ?? item : item, at: now)
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
            return (named[name] ?? named[first])?.first { items[$0].isOf(update.phase, step) }
        }
        let statements = statements.filter { items[$0].isOf(update.phase, step) }
        // The first place is the preparation.
        return statements.isEmpty ? nil : statements[min(max(0, place.index - 1), statements.count - 1)]
    }

    private mutating func complete(before end: Int, at now: UInt64) {
        guard firstOpen < end else { return }
        gain((firstOpen..<end).filter { done[$0] < 1 }.map { ($0, 1 - done[$0]) }, at: now)
        firstOpen = end
    }

    /// Counts completed shares of items, and the time since the last progress as theirs.
    private mutating func gain(_ shares: [(item: Int, share: Double)], at now: UInt64) {
        let gained = shares.map { (kind: items[$0.item].kind, bytes: items[$0.item].bytes * $0.share) }
        for (item, share) in shares {
            done[item] += share
            rest[items[item].kind.rawValue] -= items[item].bytes * share
        }
        let expected = gained.reduce(0) { $0 + rates.seconds($1.kind, $1.bytes) }
        guard expected > 0 else { return }
        let spent = Self.seconds(from: last, to: now)
        // Much work in almost no time is that of an earlier call.
        if expected < rates.seconds(all) / 10 || spent > expected / 5 {
            let factor = spent / expected
            let known = rates
            for (kind, bytes) in gained { rates.learn(kind, bytes, seconds: known.seconds(kind, bytes) * factor) }
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
