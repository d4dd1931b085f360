/// Counts every operation that can fail and, in fault tests, makes the n-th one fail or ends the process there.
///
/// One plan is shared by the file layer and the SQLite VFS wrapper of a run, so "the n-th operation" has one meaning.
package final class FaultPlan: Sendable {
    package enum Outcome: Sendable {
        /// The operation reports an I/O error.
        case fail
        /// The process ends at once, as by `kill -9`.
        case exit
    }

    private struct State {
        var count = 0
        var trigger: Int?
        var outcome = Outcome.fail
        var names: [String] = []
        var bytesRead: [String: Int64] = [:]
    }

    private let state: Locked<State>
    private let keepsNames: Bool
    private let witness: DiskWitness?
    /// What every volume says that it has free; nil leaves that to the disk.
    package let freeBytes: Int64?
    /// Whether the volumes know links and copy-on-write; copies between two volumes are tested without.
    package let hasLinks: Bool

    /// `trigger` is the operation, counted from 1, that fails; nil only counts.
    package init(
        trigger: Int? = nil, outcome: Outcome = .fail, keepsNames: Bool = false, witness: DiskWitness? = nil,
        freeBytes: Int64? = nil, hasLinks: Bool = true
    ) {
        state = Locked(State(trigger: trigger, outcome: outcome))
        self.keepsNames = keepsNames
        self.witness = witness
        self.freeBytes = freeBytes
        self.hasLinks = hasLinks
    }

    /// Counts one operation.
    ///
    /// - Returns: Whether the operation must fail now. Once it has failed, later ones fail too, as on a dead disk.
    package func strikes(_ name: @autoclosure () -> String) -> Bool {
        let (struck, outcome) = state.withLock { state -> (Bool, Outcome) in
            state.count += 1
            if keepsNames { state.names.append(name()) }
            guard let trigger = state.trigger else { return (false, state.outcome) }
            return (state.count >= trigger, state.outcome)
        }
        if struck, outcome == .exit { exitAtOnce() }
        return struck
    }

    /// Tells the witness, if there is one.
    package func tell(_ change: @autoclosure () -> DiskChange) { if let witness { witness(change()) } }

    /// Takes note of bytes that SQLite has read from a file; reading never fails by plan.
    package func hasRead(_ bytes: Int64, of name: String) {
        state.withLock { $0.bytesRead[name, default: 0] += bytes }
    }

    /// Bytes that SQLite has read, by file.
    package var bytesRead: [String: Int64] { state.withLock { $0.bytesRead } }

    package var count: Int { state.withLock { $0.count } }
    package var names: [String] { state.withLock { $0.names } }
}

/// Something that is done to a disk, for tests that simulate what a power cut leaves of it.
///
/// Told before it is done where it takes something away, else afterwards.
package enum DiskChange {
    case makesFolder(String)
    case created(String)
    case wrote(String, offset: Int64, UnsafeRawBufferPointer)
    case resized(String, Int64)
    /// The content of a file is durable.
    case synced(String)
    /// A new file has the content of another.
    case cloned(String, to: String)
    case linked(String, to: String)
    case removes(String)
    case renames(String, to: String)
    /// The names in a folder are durable.
    case syncedFolder(String)

    /// Whether something is no longer there afterwards, so that it is told before.
    var takesAway: Bool {
        switch self {
        case .removes, .renames: true
        default: false
        }
    }
}

/// Is told of every change, on the thread that makes it.
package typealias DiskWitness = @Sendable (DiskChange) -> Void
