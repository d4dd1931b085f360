internal import FerryBase
internal import FerrySQLite

/// The memory of a process that runs nothing but one command.
///
/// The library leaves these settings to the program that it is part of.
enum ProcessMemory {
    private static let keeper = Locked<MemoryKeeper?>(nil)

    /// Keeps the process below the default limit from now on.
    static func begin() {
        // The code of a debug build alone is larger than the limit: giving it back again and again would only take time.
        #if !DEBUG
            beginProgram()
            keeper.withLock { $0 = MemoryKeeper(below: MemoryBudget.defaultLimit) }
        #endif
        limitHeap(MemoryBudget())
    }

    /// Changes the limit; no effect in a process without ``begin()``.
    static func keep(_ memory: MemoryBudget) {
        guard let keeper = keeper.withLock({ $0 }) else { return }
        keeper.keep(below: memory.limit)
        limitHeap(memory)
    }

    private static func limitHeap(_ memory: MemoryBudget) {
        SQLiteLibrary.limitHeap(soft: memory.softHeap, hard: memory.hardHeap)
    }
}
