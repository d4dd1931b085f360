internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Threads that make parts of checks beside each other, each on connections of its own.
enum Walkers {
    /// What the thread that waits is told of a part.
    enum Event {
        case progress(ProgressUpdate)
        case outcome(PartOutcome)
    }

    /// Makes parts, in their order as far as they are begun one after another; caches are the bytes of each walker's.
    ///
    /// Meanwhile the calling thread does what stands beside, with a closure that takes what there is to take: how far each
    /// part has come, and what it has found. What either throws ends the work.
    ///
    /// - Returns: Why not all parts could be made: what the first of them threw.
    static func make(
        _ parts: [CheckPart], walkers: Int, caches: Int, of context: VerificationContext,
        beside: (_ look: @escaping () throws -> Void) throws -> Void,
        take: @escaping (CheckPart, Event) throws -> Void
    ) throws -> (any Error)? {
        let (verification, source, destination) = (context.verification, context.source, context.destination)
        let queue = PartQueue(parts, walkers: walkers)
        for walker in 0..<walkers {
            do {
                try WorkThread.start("ferry.verify") {
                    queue.work { progress in
                        let context = try VerificationContext(
                            walkerOf: verification, caches: caches, source: source, destination: destination,
                            progress: progress)
                        try context.connection.execute("BEGIN")
                        return context
                    }
                }
            } catch {
                guard walker > 0 else { throw error }
                // Those that have begun do the work of the others.
                queue.lose(walkers - walker)
                break
            }
        }
        var (failures, thrown): ([Int: any Error], (any Error)?) = ([:], nil)
        func process(_ index: Int, _ result: Result<Event, any Error>) throws {
            switch result {
            case .failure(let error): failures[index] = error
            case .success(let event): try take(parts[index], event)
            }
        }
        do {
            try beside { while let (index, result) = queue.next(waits: false) { try process(index, result) } }
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
        // What the walkers held counts beside what comes next.
        releaseUnusedMemory()
        if let thrown { throw thrown }
        return failures.min { $0.key < $1.key }?.value
    }
}

/// The parts that are still to be made, and the outcomes on their way to the thread that waits for them.
///
/// Unchecked, because `condition` is held whenever `state` is touched.
private final class PartQueue: @unchecked Sendable {
    private struct State {
        var next = 0
        var walkers: Int
        var isEnding = false
        var results: [(Int, Result<PartOutcome, any Error>)] = []
        /// What was told last of parts at work, and not taken yet.
        var progress: [Int: ProgressUpdate] = [:]
    }

    private let parts: [CheckPart]
    private var state: State
    /// Signalled once for each result, and once for each walker that ends.
    private let condition = NSCondition()

    init(_ parts: [CheckPart], walkers: Int) {
        self.parts = parts
        state = State(walkers: walkers)
    }

    /// Counts walkers no more that are at their end, or could not be begun.
    func lose(_ walkers: Int) {
        condition.withLock {
            state.walkers -= walkers
            condition.signal()
        }
    }

    func end() { condition.withLock { state.isEnding = true } }

    /// The next outcome, or how far a part has come; nil when all walkers have ended, or when there is none to wait for.
    func next(waits: Bool = true) -> (Int, Result<Walkers.Event, any Error>)? {
        condition.withLock {
            while waits, state.results.isEmpty, state.progress.isEmpty, state.walkers > 0 { condition.wait() }
            if let (index, update) = state.progress.popFirst() { return (index, .success(.progress(update))) }
            if state.results.isEmpty { return nil }
            let (index, result) = state.results.removeFirst()
            return (index, result.map { .outcome($0) })
        }
    }

    /// What a walker does from its beginning to its end.
    func work(_ makeContext: (@escaping ProgressHook) throws -> VerificationContext) {
        // The context goes, and closes its connections, before the end is told.
        walk(makeContext)
        lose(1)
    }

    private func walk(_ makeContext: (@escaping ProgressHook) throws -> VerificationContext) {
        let current = CurrentPart()
        do {
            let context = try makeContext { [self] update in tell(current.index, update) }
            while let index = take() {
                current.index = index
                let result = Result { try context.make(parts[index]) }
                if case .failure = result { end() }
                deliver(index, result)
            }
        } catch {
            end()
            deliver(parts.count, .failure(error))
        }
    }

    /// Unchecked, because only its walker's thread touches it.
    private final class CurrentPart: @unchecked Sendable {
        var index = 0
    }

    private func take() -> Int? {
        condition.withLock {
            guard !state.isEnding, state.next < parts.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    private func tell(_ index: Int, _ update: ProgressUpdate) {
        condition.withLock {
            state.progress[index] = update
            condition.signal()
        }
    }

    private func deliver(_ index: Int, _ result: Result<PartOutcome, any Error>) {
        condition.withLock {
            // What comes behind the end would count twice.
            state.progress[index] = nil
            state.results.append((index, result))
            condition.signal()
        }
    }
}

/// A part of a check that a walker makes by itself.
struct CheckPart: Sendable {
    /// Different from those of all other parts.
    let name: String
    /// What progress says that it is about.
    let subject: String?
    /// How many rows all parts of the same subject come by together, where that is known.
    var total: Int64?
    /// Reports into the walker's own context, and leaves in the outcome what its check wants to know.
    let make: @Sendable (VerificationContext, inout PartOutcome) throws -> Void
}

/// What a part has found.
struct PartOutcome: Sendable, Codable {
    var checked: Int64 = 0
    var notRecomputed: Int64 = 0
    var differences: [VerificationReport.Difference] = []
    /// Whether the store cannot be read on.
    var isUnreadable = false
    /// Rows that it came by.
    var rows: Int64 = 0
    /// What the mappings read, wrote and dropped of these rows.
    var counts: [EntityMappingCounts]?
    /// Rows of a table, or entries of an index.
    var counted: Int64?
    /// As ``TableTally`` counts.
    var tally: [Int64]?
    /// Sums of entries that indexes have, or should have.
    var sums: [EntrySum]?
    /// Entries of an index that are out of their place.
    var misplaced: Int64?
    /// Whether the keys that an index begins with lead to objects, where its reading shows that.
    var leads: Bool?
    /// Objects that a mapping makes of its rows.
    var made: Int64?
    /// Whether what it was to show is shown; if not, the check itself says what is wrong.
    var isShown = false
    /// Relations whose keys are not shown to be right by the rows that hold them.
    var unshown: Set<String>?

    /// All numbers of rows in it, but for the counts of mappings.
    var numbers: [Int64] {
        let single = [checked, notRecomputed, rows, made ?? 0, counted ?? 0, misplaced ?? 0]
        return single + (tally ?? []) + (sums ?? []).map(\.count)
    }
}

extension VerificationContext {
    /// Makes a part and takes what it reported.
    func make(_ part: CheckPart) throws -> PartOutcome {
        (report, isUnreadable) = (VerificationReport(mode: verification.mode), false)
        var outcome = PartOutcome()
        try verification.stop.check()
        try part.make(self, &outcome)
        outcome.checked = report.checked
        outcome.notRecomputed = report.notRecomputed
        outcome.differences = report.differences
        outcome.isUnreadable = isUnreadable
        return outcome
    }
}

extension VerificationReport {
    mutating func add(_ outcome: PartOutcome) {
        checked += outcome.checked
        notRecomputed += outcome.notRecomputed
        for found in outcome.differences {
            add(check: found.check, entity: found.entity, count: found.count, example: found.example)
        }
    }
}

/// What is told of parts that are made beside each other: those of one subject come together.
final class PartsProgress {
    private let hook: ProgressHook?
    /// Rows of finished parts, by subject.
    private var finished: [String: Int64] = [:]
    /// Subject and rows of parts at work, by name; as many as there are walkers.
    private var atWork: [String: (subject: String, rows: Int64)] = [:]

    init(_ hook: ProgressHook?) { self.hook = hook }

    /// Takes how far a part has come.
    func take(_ update: ProgressUpdate, of part: CheckPart) {
        guard let subject = part.subject, part.total != nil, update.subject == subject else {
            hook?(update)
            return
        }
        atWork[part.name] = (subject, update.done)
        tell(part, subject)
    }

    func take(_ outcome: PartOutcome, of part: CheckPart) {
        atWork[part.name] = nil
        guard let subject = part.subject, outcome.rows > 0 else { return }
        finished[subject, default: 0] += outcome.rows
        tell(part, subject)
    }

    private func tell(_ part: CheckPart, _ subject: String) {
        let done = atWork.values.reduce(finished[subject] ?? 0) { $0 + ($1.subject == subject ? $1.rows : 0) }
        hook?(ProgressUpdate(phase: .verify, subject: subject, done: done, total: part.total))
    }
}
