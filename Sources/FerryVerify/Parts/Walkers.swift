internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Threads that make parts of checks beside each other, each on connections of its own.
struct Walkers {
    private let count: Int
    private let makeContext: @Sendable () throws -> VerificationContext

    /// - Parameters:
    ///   - count: How many parts are made at one time.
    ///   - context: The verification that they belong to.
    init(count: Int, of context: VerificationContext) {
        self.count = count
        let (verification, source, destination) = (context.verification, context.source, context.destination)
        makeContext = {
            let context = try VerificationContext(walkerOf: verification, source: source, destination: destination)
            try context.connection.execute("BEGIN")
            return context
        }
    }

    /// Makes parts, in their order as far as they are begun one after another.
    ///
    /// - Parameters:
    ///   - parts: What is to be made.
    ///   - record: Takes each outcome, on the calling thread; what it throws ends the work.
    /// - Returns: Why not all parts could be made: what the first of them threw.
    /// - Throws: What `record` throws, or why there is no walker.
    func make(_ parts: [CheckPart], record: (CheckPart, PartOutcome) throws -> Void) throws -> (any Error)? {
        if parts.isEmpty { return nil }
        guard count > 1, parts.count > 1 else { return try makeHere(parts, record) }
        let queue = PartQueue(parts, walkers: min(count, parts.count))
        for _ in 0..<min(count, parts.count) {
            let thread = Thread { [makeContext] in queue.work(makeContext) }
            thread.name = "ferry verify"
            // Expressions are evaluated as deep as on the main thread.
            thread.stackSize = 8 << 20
            thread.start()
        }
        var (failures, thrown): ([Int: any Error], (any Error)?) = ([:], nil)
        while let (index, result) = queue.next() {
            switch result {
            case .failure(let error): failures[index] = error
            case .success(let outcome):
                do { if thrown == nil { try record(parts[index], outcome) } } catch {
                    thrown = error
                    queue.end()
                }
            }
        }
        // What the walkers held counts beside what comes next.
        releaseUnusedMemory()
        if let thrown { throw thrown }
        return failures.min { $0.key < $1.key }?.value
    }

    private func makeHere(
        _ parts: [CheckPart], _ record: (CheckPart, PartOutcome) throws -> Void
    ) throws -> (any Error)? {
        let context = try makeContext()
        for part in parts {
            let outcome: PartOutcome
            do { outcome = try context.make(part) } catch { return error }
            try record(part, outcome)
        }
        return nil
    }
}

/// The parts that are still to be made, and the outcomes on their way to the thread that waits for them.
///
/// Unchecked, because `condition` is held whenever `state` is touched. The thread sanitizer, which looks at this in CI, does
/// not see a `Mutex` on Linux.
private final class PartQueue: @unchecked Sendable {
    private struct State {
        var next = 0
        var walkers: Int
        var isEnding = false
        var results: [(Int, Result<PartOutcome, any Error>)] = []
    }

    private let parts: [CheckPart]
    private var state: State
    /// Signalled once for each result, and once for each walker that ends.
    private let condition = NSCondition()

    init(_ parts: [CheckPart], walkers: Int) {
        self.parts = parts
        state = State(walkers: walkers)
    }

    /// Begins no further part.
    func end() { condition.withLock { state.isEnding = true } }

    /// The next outcome, once it is there; nil when all walkers have ended.
    func next() -> (Int, Result<PartOutcome, any Error>)? {
        condition.withLock {
            while state.results.isEmpty, state.walkers > 0 { condition.wait() }
            return state.results.isEmpty ? nil : state.results.removeFirst()
        }
    }

    /// What a walker does from its beginning to its end.
    func work(_ makeContext: () throws -> VerificationContext) {
        // The context goes, and closes its connections, before the end is told.
        walk(makeContext)
        condition.withLock {
            state.walkers -= 1
            condition.signal()
        }
    }

    private func walk(_ makeContext: () throws -> VerificationContext) {
        do {
            let context = try makeContext()
            while let index = take() {
                let result = Result { try context.make(parts[index]) }
                if case .failure = result { end() }
                deliver(index, result)
            }
        } catch {
            end()
            deliver(parts.count, .failure(error))
        }
    }

    private func take() -> Int? {
        condition.withLock {
            guard !state.isEnding, state.next < parts.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    private func deliver(_ index: Int, _ result: Result<PartOutcome, any Error>) {
        condition.withLock {
            state.results.append((index, result))
            condition.signal()
        }
    }
}
