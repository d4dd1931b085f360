package import FerryBase
package import FerrySQLite
package import FerryStore

/// How the engine runs: chunk size, and what it is given from above.
package struct EngineOptions: Sendable {
    package enum ChunkSize: Sendable, Hashable { case rows(Int), automatic }

    package var chunkSize: ChunkSize
    /// What an automatic chunk may write, and how long it may take.
    package var chunkBytes = 4 << 20
    package var chunkNanoseconds: UInt64 = 500_000_000
    /// The largest value that goes with its chunk; nil for what ``memoryLimit`` and ``chunkBytes`` allow.
    package var valueLimit: Int?
    /// `now()`, in seconds since 2001-01-01 UTC; fixed once per run.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    /// Receives the statements before they run; for a list of them.
    package var onStatement: StatementHook?
    package var stop: StopRequest
    /// Bytes that the process may hold; a value that must be whole in memory costs twice its size of it.
    package var memoryLimit = MemoryBudget.defaultLimit
    /// Whether a verification is at work at the same time.
    package var isBesideVerification = false
    package var vfs: VFS?
    /// Where the files of values outside the database are; nil for the place beside the source.
    package var externalFolder: String?
    /// Names of objects that no model explains and that are to be left out of the first step's result.
    package var dropping: Set<String> = []
    /// What becomes of rows that no rule heals.
    package var damaged = DamagedRows.keep
    /// What was wrong with the source, as a scan of this run has found; nil before there was one.
    package var sourceDamage: [StoreDamage]?

    /// Shares of the limit; of the least one where values are held to less than that.
    package var memory: MemoryBudget {
        let whole = MemoryBudget(limit: min(max(memoryLimit, MemoryBudget.least), MemoryBudget.most))
        return (isBesideVerification ? whole.besideEachOther?.step : nil) ?? whole
    }

    package init(
        chunkSize: ChunkSize, now: Double, trace: TraceHook? = nil, progress: ProgressHook? = nil,
        stop: StopRequest = StopRequest(), vfs: VFS? = nil,
        externalFolder: String? = nil
    ) {
        self.chunkSize = chunkSize
        self.now = now
        self.trace = trace
        self.progress = progress
        self.stop = stop
        self.vfs = vfs
        self.externalFolder = externalFolder
    }

    /// The largest value, and the largest row, that goes with its chunk, in bytes (`SQLITE_LIMIT_LENGTH`).
    ///
    /// A statement holds a value and the row that it becomes at the same time, so it is half of what a chunk may write;
    /// and an eighth of the memory at most, which leaves room for what runs beside it. Rows of ordinary size never
    /// come near the smallest limit.
    package var valueBytes: Int { valueLimit ?? max(1 << 16, min(chunkBytes / 2, memoryLimit / 16)) }

    /// The largest value that may be whole in memory: it is there twice, as itself and in the row that it becomes.
    package var wholeValueBytes: Int { max(valueBytes, memoryLimit / 2) }
}
