internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import Foundation

/// Threads that run parts of checks concurrently, each on a connection of its own.
enum Walkers {
    enum Event {
        case progress(ProgressUpdate)
        case outcome(PartOutcome)
    }

    /// Runs parts, started in their order; `caches` is the number of bytes of each walker.
    ///
    /// Meanwhile the calling thread runs `beside`, with a closure that handles waiting events. An error of either ends
    /// the work.
    ///
    /// - Returns: The error of the first part that failed, or of a read by `beside`.
    static func make(
        _ parts: [CheckPart], walkers: Int, caches: Int, of context: VerificationContext,
        beside: (_ handleEvents: @escaping () throws -> Void) throws -> Void,
        take: @escaping (CheckPart, Event) throws -> Void
    ) throws -> (any Error)? {
        let makeContext = try context.walkerContexts(caches: caches)
        let queue = PartQueue(parts, walkers: walkers)
        for walker in 0..<walkers {
            do {
                try WorkThread.start("ferry.verify") { queue.work(makeContext) }
            } catch {
                guard walker > 0 else { throw error }
                // The walkers that have started do all the work.
                queue.removeWalkers(walkers - walker)
                break
            }
        }
        var (failures, thrown, unread): ([Int: any Error], (any Error)?, (any Error)?) = ([:], nil, nil)
        func process(_ index: Int, _ result: Result<Event, any Error>) throws {
            switch result {
            case .failure(let error): failures[index] = error
            case .success(let event): try take(parts[index], event)
            }
        }
        do {
            try beside { while let (index, result) = queue.next(waits: false) { try process(index, result) } }
        } catch let error as DatabaseError where !error.isInterrupted {
            // A part may find the damage behind the error.
            unread = error
        } catch {
            thrown = error
            queue.end()
        }
        while let (index, result) = queue.next() {
            do { try process(index, result) } catch {
                thrown = thrown ?? error
                queue.end()
            }
        }
        // Frees the walkers' memory before the next step needs its own.
        releaseUnusedMemory()
        if let thrown { throw thrown }
        return failures.min { $0.key < $1.key }?.value ?? unread
    }
}

/// The parts to run, and their events for the waiting thread.
///
/// Unchecked, because `condition` is locked whenever `state` is accessed.
private final class PartQueue: @unchecked Sendable {
    private struct State {
        var next = 0
        var walkers: Int
        var isEnding = false
        var results: [(Int, Result<PartOutcome, any Error>)] = []
        /// The last progress of running parts that the waiting thread has not taken.
        var progress: [Int: ProgressUpdate] = [:]
    }

    private let parts: [CheckPart]
    private var state: State
    /// Signalled once for each event, and once for each walker that ends.
    private let condition = NSCondition()

    init(_ parts: [CheckPart], walkers: Int) {
        self.parts = parts
        state = State(walkers: walkers)
    }

    func removeWalkers(_ walkers: Int) {
        condition.withLock {
            state.walkers -= walkers
            condition.signal()
        }
    }

    func end() { condition.withLock { state.isEnding = true } }

    /// The next event; nil if all walkers have ended, or if there is none and the caller does not wait.
    func next(waits: Bool = true) -> (Int, Result<Walkers.Event, any Error>)? {
        condition.withLock {
            while waits, state.results.isEmpty, state.progress.isEmpty, state.walkers > 0 { condition.wait() }
            if let (index, update) = state.progress.popFirst() { return (index, .success(.progress(update))) }
            if state.results.isEmpty { return nil }
            let (index, result) = state.results.removeFirst()
            return (index, result.map { .outcome($0) })
        }
    }

    func work(_ makeContext: () throws -> VerificationContext) {
        // The context is released, and its connections closed, before the walker counts as ended.
        walk(makeContext)
        removeWalkers(1)
    }

    private func walk(_ makeContext: () throws -> VerificationContext) {
        do {
            let context = try makeContext()
            defer { context.forgetWalk() }
            while let index = take() {
                var lastReport: UInt64?
                context.onProgress = { [self] update in
                    let now = Clock.nanoseconds()
                    if let lastReport, Clock.nanoseconds(from: lastReport, to: now) < Self.nanosecondsBetweenReports {
                        return
                    }
                    lastReport = now
                    report(index, update)
                }
                let result = Result { try context.make(parts[index]) }
                if case .failure = result { end() }
                deliver(index, result)
            }
        } catch {
            end()
            deliver(parts.count, .failure(error))
        }
    }

    /// Each report wakes the waiting thread on a processor that a walker needs.
    private static let nanosecondsBetweenReports: UInt64 = 20_000_000

    private func take() -> Int? {
        condition.withLock {
            guard !state.isEnding, state.next < parts.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    private func report(_ index: Int, _ update: ProgressUpdate) {
        condition.withLock {
            state.progress[index] = update
            condition.signal()
        }
    }

    private func deliver(_ index: Int, _ result: Result<PartOutcome, any Error>) {
        condition.withLock {
            // Progress after the outcome would count the rows twice.
            state.progress[index] = nil
            state.results.append((index, result))
            condition.signal()
        }
    }
}

/// A part of a check, which one walker runs.
struct CheckPart: Sendable {
    /// A name that no other part has.
    let name: String
    let subject: String?
    /// The rows of all parts of this subject together, if known.
    var total: Int64?
    /// Reports into the walker's own context, and adds results for its check to the outcome.
    let make: @Sendable (VerificationContext, inout PartOutcome) throws -> Void
}

struct PartOutcome: Sendable, Codable {
    var report = VerificationSummary()
    var isUnreadable = false
    var rows: Int64 = 0
    var counts: [EntityMappingCounts]?
    var counted: Int64?
    /// The counts of ``TableTally``.
    var tally: [Int64]?
    /// Sums of entries, found in indexes or required by rows.
    var sums: [EntrySum]?
    /// Index entries in the wrong order.
    var misplaced: Int64?
    /// Whether all keys that the part checks lead to objects whose keys, in a one-to-one, lead back; nil if the part
    /// checks no keys.
    var leads: Bool?
    /// Whether the part found no difference; if not, the check itself reports the differences.
    var isShown = false
    /// Relations whose foreign keys the row comparison could not confirm.
    var unshown: Set<String>?
    /// The sums of ``MadeLinks`` by the name of their relation.
    var links: [String: EntrySum]?
    /// The next new key of a root table that the calling thread compares.
    var nextKey: Int64?

    /// All numbers of rows, without the report and the counts of mappings.
    var numbers: [Int64] {
        let single = [rows, counted ?? 0, misplaced ?? 0]
        return single + (tally ?? []) + ((sums ?? []) + (links ?? [:]).values).map(\.count)
    }
}

extension VerificationContext {
    func make(_ part: CheckPart) throws -> PartOutcome {
        (report, isUnreadable) = (VerificationSummary(), false)
        var outcome = PartOutcome()
        try verification.stop.checkBetweenUnits()
        let start = Clock.nanoseconds()
        try part.make(self, &outcome)
        let worked = Clock.nanoseconds(since: start)
        verification.stop.unitTook(nanoseconds: worked)
        try verification.stop.checkBetweenUnits(after: worked)
        (outcome.report, outcome.isUnreadable) = (report, isUnreadable)
        return outcome
    }
}

extension VerificationSummary {
    mutating func add(_ other: VerificationSummary) {
        checked += other.checked
        notRecomputed += other.notRecomputed
        for found in other.differences {
            add(
                check: found.check.rawValue, entity: found.entity, property: found.property, count: found.count,
                example: found.example)
        }
    }
}

/// The progress of concurrent parts, added up by subject.
final class PartsProgress {
    private let hook: ProgressHook?
    /// Subject and rows of the parts so far, by name.
    private var parts: [String: (subject: String, rows: Int64)] = [:]

    init(_ hook: ProgressHook?) { self.hook = hook }

    func take(_ update: ProgressUpdate, of part: CheckPart) {
        guard let subject = part.subject, part.total != nil, update.subject == subject else {
            hook?(update)
            return
        }
        report(update.done, of: part, subject)
    }

    func take(_ outcome: PartOutcome, of part: CheckPart) {
        guard let subject = part.subject, outcome.rows > 0 else { return }
        report(outcome.rows, of: part, subject)
    }

    private func report(_ rows: Int64, of part: CheckPart, _ subject: String) {
        parts[part.name] = (subject, rows)
        let done = parts.values.reduce(0) { $0 + ($1.subject == subject ? $1.rows : 0) }
        hook?(ProgressUpdate(phase: .verify, subject: subject, done: done, total: part.total))
    }
}
