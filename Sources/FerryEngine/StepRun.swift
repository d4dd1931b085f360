package import FerryBase
package import FerryMapping
package import FerryPlan
package import FerrySQLite

/// How the engine runs: chunk size, and what it is given from above.
package struct EngineOptions: Sendable {
    package enum ChunkSize: Sendable, Hashable { case rows(Int), automatic }

    package var chunkSize: ChunkSize
    /// `now()`, in seconds since 2001-01-01 UTC; fixed once per run.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest
    package var vfs: VFS?

    package init(
        chunkSize: ChunkSize, now: Double, trace: TraceHook? = nil, progress: ProgressHook? = nil,
        stop: StopRequest = StopRequest(), vfs: VFS? = nil
    ) {
        self.chunkSize = chunkSize
        self.now = now
        self.trace = trace
        self.progress = progress
        self.stop = stop
        self.vfs = vfs
    }
}

/// What a finished (or resumed and finished) step did.
package struct StepReport: Sendable {
    package var counts: [EntityMappingCounts]
    package var unmapped: [(entity: String, rows: Int64)]
    package var healed: [(kind: String, entity: String, rows: Int64)]
    /// Chunks of all calls together, and the times of this call's chunks.
    package var chunks: Int
    package var chunkNanoseconds: [UInt64]
    package var phaseNanoseconds: [Phase: UInt64]
    package var resumed: Bool

    package init(counts: [EntityMappingCounts] = []) {
        self.counts = counts
        unmapped = []
        healed = []
        chunks = 0
        chunkNanoseconds = []
        phaseNanoseconds = [:]
        resumed = false
    }
}

/// Runs one copy step of a plan into a run folder.
///
/// The folder gets `destination.sqlite` and `scratch.sqlite`. Calling it again on the same folder goes on where the
/// last call stopped; when everything was done before, it only returns the report. The destination keeps its progress
/// table until ``finish(folder:)``, so that verification can run before.
package struct StepRun {
    package var step: StepPlan
    package var sourcePath: String
    /// Whether nobody can change the source file during the run (a finished earlier step).
    package var isSourcePrivate: Bool
    package var folder: String
    package var options: EngineOptions

    package init(
        step: StepPlan, sourcePath: String, isSourcePrivate: Bool, folder: String, options: EngineOptions
    ) {
        self.step = step
        self.sourcePath = sourcePath
        self.isSourcePrivate = isSourcePrivate
        self.folder = folder
        self.options = options
    }

    package var destinationPath: String { folder + "/destination.sqlite" }

    /// Rows, links and indexes, each in units that are recorded as done.
    ///
    /// - Throws: ``FerryError``; the run stays resumable.
    package func run() throws -> StepReport {
        preconditionFailure("not here yet")
    }

    /// Takes the progress table out of a verified destination and removes the scratch database.
    package func finish() throws {
        preconditionFailure("not here yet")
    }
}
