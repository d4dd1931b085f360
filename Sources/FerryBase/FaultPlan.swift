/// A counter of operations that can fail; in fault tests it makes the n-th one fail or ends the process there.
///
/// The file layer and the SQLite VFS wrapper of a run share one plan, so "the n-th operation" has one meaning.
package final class FaultPlan: Sendable {
    package enum Outcome: Sendable {
        case fail
        /// Only the one operation fails, as on a disk with a bad sector.
        case failOnce
        case exit
    }

    private struct State {
        var count = 0
        var trigger: Int?
        var outcome = Outcome.fail
        var names: [String] = []
        var bytesRead: [String: Int64] = [:]
        var writes = 0
    }

    private let state: Locked<State>
    private let keepsNames: Bool
    private let witness: DiskWitness?
    /// The free bytes that every volume reports in tests; nil to use the real number.
    package let freeBytes: Int64?
    /// SQLite's writes that get no memory, counted from 1; unlike other failures they end.
    private let withoutMemory: ClosedRange<Int>?
    /// Whether volumes support links and copy-on-write; tests of copies between two volumes set false.
    package let hasLinks: Bool

    /// Whether a clone is a copy of the bytes, for tests on a volume without copy-on-write files.
    package let copiesClones: Bool

    /// `trigger` is the number of the operation that fails, from 1; nil to only count.
    package init(
        trigger: Int? = nil, outcome: Outcome = .fail, keepsNames: Bool = false, witness: DiskWitness? = nil,
        freeBytes: Int64? = nil, hasLinks: Bool = true, copiesClones: Bool = false,
        withoutMemory: ClosedRange<Int>? = nil
    ) {
        state = Locked(State(trigger: trigger, outcome: outcome))
        self.keepsNames = keepsNames
        self.witness = witness
        self.freeBytes = freeBytes
        self.hasLinks = hasLinks
        self.copiesClones = copiesClones
        self.withoutMemory = withoutMemory
    }

    /// Counts an operation.
    ///
    /// - Returns: Whether it must fail: true also for all operations after the first failure, as on a dead disk.
    package func strikes(_ name: @autoclosure () -> String) -> Bool {
        let (struck, outcome) = state.withLock { state -> (Bool, Outcome) in
            state.count += 1
            if keepsNames { state.names.append(name()) }
            guard let trigger = state.trigger else { return (false, state.outcome) }
            let isStruck = state.outcome == .failOnce ? state.count == trigger : state.count >= trigger
            return (isStruck, state.outcome)
        }
        if struck, outcome == .exit { exitAtOnce() }
        return struck
    }

    /// Counts a write by SQLite, and returns whether it gets no memory.
    package func refusesMemory() -> Bool {
        let count = state.withLock { state in
            state.writes += 1
            return state.writes
        }
        return withoutMemory?.contains(count) == true
    }

    /// The number of writes by SQLite.
    package var writes: Int { state.withLock { $0.writes } }

    /// Passes a change to the witness of the test, if there is one.
    package func tell(_ change: @autoclosure () -> DiskChange) { if let witness { witness(change()) } }

    /// Counts bytes that SQLite read from a file; a plan never makes reads fail.
    package func hasRead(_ bytes: Int64, of name: String) {
        state.withLock { $0.bytesRead[name, default: 0] += bytes }
    }

    package var bytesRead: [String: Int64] { state.withLock { $0.bytesRead } }

    package var count: Int { state.withLock { $0.count } }
    package var names: [String] { state.withLock { $0.names } }
}

/// A change to a disk, for tests that simulate a power cut.
///
/// A witness gets a removal or a rename beforehand, any other change afterwards.
package enum DiskChange {
    case makesFolder(String)
    case created(String)
    case wrote(String, offset: Int64, UnsafeRawBufferPointer)
    case resized(String, Int64)
    case synced(String)
    case cloned(String, to: String)
    case linked(String, to: String)
    case removes(String)
    case renames(String, to: String)
    case syncedFolder(String)

    var removesName: Bool {
        switch self {
        case .removes, .renames: true
        default: false
        }
    }
}

/// Receives every change, on the thread that makes it.
package typealias DiskWitness = @Sendable (DiskChange) -> Void
