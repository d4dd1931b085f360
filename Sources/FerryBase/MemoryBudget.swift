/// The division of a run's memory limit into shares.
///
/// Every cache takes its size from a share, so that their sum stays below the limit for any number of rows; what no share
/// has is for buffers of fixed size. The caches of all connections that a phase has open are one share.
package struct MemoryBudget: Sendable, Hashable {
    package static let defaultLimit = 32 << 20
    /// The program's pages, the Swift runtime, Foundation, small models, plan and prepared statements.
    ///
    /// Measured on the released program (`-static-stdlib`, Linux, x86-64) between the phases of a run.
    package static let program = 17 << 20
    /// The part of ``program`` that no model and no plan changes: the pages of code that a phase uses.
    private static let pages = 25 << 19
    /// The least spare memory: with smaller caches SQLite would read and write most pages twice.
    private static let leastSpare = 4 << 20
    /// The pages of the program that a phase loads, measured as ``program``.
    private static let programOfPhase = 4 << 20
    /// The lowest limit: models and planning alone load so many pages of the program.
    package static let least = 24 << 20
    /// The highest limit: no machine has more, and sums of shares cannot overflow.
    package static let most = 1 << 40
    /// Above this limit, sorting takes more time than larger runs on disk save.
    private static let mostForDatabases = 16 << 20

    /// In bytes, for the whole process.
    package let limit: Int
    /// Measured bytes of models, plan and statements, which grow with the entities and versions of the models.
    private let held: Int

    /// - Parameters:
    ///   - limit: From ``least`` to ``most``.
    ///   - held: The measured bytes of models, plan and statements.
    package init(limit: Int = MemoryBudget.defaultLimit, held: Int = 0) {
        precondition((Self.least...Self.most).contains(limit), "a limit out of bounds is refused before")
        (self.limit, self.held) = (limit, held)
    }

    private var spare: Int {
        let program = max(Self.program, Self.pages + min(max(held, 0), limit))
        return max(limit - program, Self.leastSpare)
    }

    /// The share of all SQLite page caches and sorters of a phase.
    package var databases: Int { min(spare / 15 * 8, Self.mostForDatabases) }

    /// The part of ``databases`` for the source guard, which is always open; beside other connections it reads each page at
    /// most once, in order.
    package var guardCache: Int { databases / 32 }

    /// The part of ``databases`` for the connections of the current phase.
    package var workingCaches: Int { databases - guardCache }

    /// For find-or-create's table of objects.
    package var lookups: Int { spare / 15 * 4 }

    /// The share of a snapshot's contexts and buffers; no other work runs during a snapshot.
    ///
    /// Refused levels must not depend on what a run has measured.
    package var snapshot: Int { held == 0 ? spare - guardCache : MemoryBudget(limit: limit).snapshot }

    /// The part of ``snapshot`` that models and plan leave for more than one thread.
    package var snapshotThreads: Int { min(snapshot, spare - guardCache) }

    /// SQLite's share of the process: half of the smallest limit and what is above it, because the program's part stays.
    package var softHeap: Int { limit - Self.least / 2 }

    /// The most that SQLite may ever hold: a value that must be whole may take what other parts leave.
    package var hardHeap: Int { limit - Self.leastSpare }

    /// Releases unused memory if the next phase needs more than the limit leaves.
    ///
    /// The run of a small store never nears the limit, and would spend much time on reloading the program's pages.
    ///
    /// - Parameter store: The bytes of the store, the most that any cache can hold.
    package func releaseUnused(before store: Int64) {
        let needed = Int64(Self.programOfPhase) + min(Int64(max(0, spare)), store)
        if let held = ResidentMemory.bytes(), held + needed <= Int64(limit) { return }
        releaseUnusedMemory()
    }

    /// - Throws: ``FerryError`` `.usage` for a limit out of bounds.
    package static func check(_ limit: Int) throws(FerryError) {
        guard limit <= most else {
            throw FerryError(
                .usage, "A memory limit of \(Int64(limit).counting("byte")) is more than any machine can have.",
                remedy: "Use at most \(most >> 30)GiB.")
        }
        guard limit < least else { return }
        throw FerryError(
            .usage, "A memory limit of \(Int64(limit).counting("byte")) is less than Ferry itself needs.",
            remedy: "Use at least \(least >> 20)MiB.")
    }
}
