package import FerryBase
package import FerrySQLite
package import FerryStore

/// How the engine runs: chunk size, and what it is given from above.
package struct EngineOptions: Sendable {
    package enum ChunkSize: Sendable, Hashable { case rows(Int), automatic }

    package var chunkSize: ChunkSize
    /// `now()`, in seconds since 2001-01-01 UTC; fixed once per run.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest
    /// Bytes that the process may hold.
    package var memoryLimit = MemoryBudget.defaultLimit
    package var vfs: VFS?
    /// Where the files of values outside the database are; nil for the place beside the source.
    package var externalFolder: String?
    /// Names of objects that no model explains and that are to be left out of the first step's result.
    package var dropping: Set<String> = []
    /// What becomes of rows that no rule heals.
    package var damaged = DamagedRows.keep
    /// What was wrong with the source, as a scan of this run has found; nil when nobody has looked yet.
    package var sourceDamage: [StoreDamage]?

    package var memory: MemoryBudget { MemoryBudget(limit: memoryLimit) }

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
}
