internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Threads that make parts of checks beside each other, each on connections of its own.
struct Walkers {
    /// What the thread that waits is told of a part.
    enum Event {
        case progress(ProgressUpdate)
        case outcome(PartOutcome)
    }

    private let count: Int
    private let makeContext: @Sendable (@escaping ProgressHook) throws -> VerificationContext

    /// - Parameters:
    ///   - count: How many parts are made at one time.
    ///   - caches: Bytes for the caches of each walker.
    ///   - context: The verification that they belong to.
    init(count: Int, caches: Int, of context: VerificationContext) {
        self.count = count
        let (verification, source, destination) = (context.verification, context.source, context.destination)
        makeContext = { progress in
            let context = try VerificationContext(
                walkerOf: verification, caches: caches, source: source, destination: destination, progress: progress)
            try context.connection.execute("BEGIN")
            return context
        }
    }

    /// Makes parts, in their order as far as they are begun one after another.
    ///
    /// - Parameters:
    ///   - parts: What is to be made.
    ///   - beside: What the calling thread does meanwhile; the closure that it gets takes what there is to take.
    ///   - take: Takes how far each has come and what it has found, on the calling thread; what it throws ends the work.
    /// - Returns: Why not all parts could be made: what the first of them threw.
    /// - Throws: What `beside` and `take` throw, or why there is no walker.
    func make(
        _ parts: [CheckPart], beside: (_ look: @escaping () throws -> Void) throws -> Void,
        take: @escaping (CheckPart, Event) throws -> Void
    ) throws -> (any Error)? {
        let walkers = min(count, parts.count)
        let queue = PartQueue(parts, walkers: walkers)
        for walker in 0..<walkers {
            do {
                try WorkThread.start("ferry.verify") { [makeContext] in queue.work(makeContext) }
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

    /// Counts walkers no more that could not be begun.
    func lose(_ walkers: Int) {
        condition.withLock {
            state.walkers -= walkers
            condition.signal()
        }
    }

    /// Begins no further part.
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
        condition.withLock {
            state.walkers -= 1
            condition.signal()
        }
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
