/// How the memory that a run may hold is shared out.
///
/// Every cache, queue and buffer that is sized at all takes its size from here, so that their sum stays below the limit
/// whatever the number of rows. What is open at one time is counted together: the caches of all connections of a phase
/// are one share.
package struct MemoryBudget: Sendable, Hashable {
    package static let defaultLimit = 32 << 20
    /// The program's pages, the Swift runtime, Foundation, models, plan and prepared statements.
    ///
    /// Measured on the released program (`-static-stdlib`, Linux, x86-64) between the phases of a run.
    package static let program = 17 << 20
    /// What a phase brings in of the program.
    ///
    /// Measured as ``program``.
    private static let programOfPhase = 4 << 20
    /// Below this a run is refused: reading models and planning alone bring so many pages of the program in.
    package static let least = 24 << 20
    /// No machine has more; sums of shares stay far from overflow.
    package static let most = 1 << 40
    /// What the program has more in memory while it makes a step and verifies another: code of both, statements, a thread.
    ///
    /// Measured as ``program``.
    private static let programOfTwo = 7 << 20
    /// Below this the caches of a verification hold hardly more than the way down its b-trees.
    private static let leastBeside = 5 << 19
    /// Beyond, sorting takes more time than larger runs on disk save.
    private static let mostForDatabases = 16 << 20

    /// Bytes that the whole process may hold.
    package let limit: Int
    /// What something else that is at work at the same time takes.
    private var othersBytes = 0
    private var mostForDatabases = MemoryBudget.mostForDatabases

    /// - Parameter limit: From ``least`` to ``most``.
    package init(limit: Int = MemoryBudget.defaultLimit) {
        precondition((Self.least...Self.most).contains(limit), "a limit out of bounds is refused before")
        self.limit = limit
    }

    /// What is left beside the program.
    private var spare: Int { limit - Self.program - othersBytes }

    /// All SQLite page caches and sorters of a phase together.
    package var databases: Int { min(spare / 15 * 8, mostForDatabases) }

    /// The guard's part of ``databases``: it is open beside everything else, and reads each page once at most, in order.
    package var guardCache: Int { databases / 32 }

    /// The rest, for the connections of the phase at work.
    package var workingCaches: Int { databases - guardCache }

    /// The shares of a step that is made while the one before is verified, and of this verification; nil where the limit is
    /// too low for both.
    package var besideEachOther: (step: MemoryBudget, verification: MemoryBudget)? {
        let rest = spare - Self.programOfTwo
        let caches = rest / 3
        guard caches >= Self.leastBeside else { return nil }
        var (step, verification) = (self, self)
        step.othersBytes = Self.programOfTwo + caches
        verification.mostForDatabases = caches
        return (step, verification)
    }

    /// Rows between the reading and the writing thread.
    package var queue: Int { spare / 15 * 2 }

    /// What find-or-create remembers objects in.
    package var lookups: Int { spare / 15 * 4 }

    /// Contexts and buffers of a snapshot, which is taken while nothing else is at work.
    package var snapshot: Int { spare - guardCache }

    /// Gives back what nothing uses at the moment, where that leaves too little for what comes next.
    ///
    /// The run of a small store never comes near the limit, and would take a good part of its time to read the program's
    /// pages again.
    ///
    /// - Parameter store: Bytes of the store at hand: no cache or queue comes to hold more.
    package func releaseUnused(before store: Int64) {
        let needed = Int64(Self.programOfPhase) + min(Int64(max(0, spare)), store)
        if let held = ResidentMemory.bytes(), held + needed <= Int64(limit) { return }
        releaseUnusedMemory()
    }

    /// - Throws: ``FerryError`` `.usage` for a limit that Ferry cannot keep.
    package static func check(_ limit: Int) throws(FerryError) {
        guard limit <= most else {
            throw FerryError(
                .usage, "A memory limit of \(Int64(limit).counting("byte")) is more than any machine has.",
                remedy: "Give at most \(most >> 30)GiB.")
        }
        guard limit < least else { return }
        throw FerryError(
            .usage, "A memory limit of \(Int64(limit).counting("byte")) is less than Ferry itself needs.",
            remedy: "Give at least \(least >> 20)MiB.")
    }
}
