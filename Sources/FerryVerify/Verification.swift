package import FerryBase
package import FerryMapping

/// Checks a migrated store against its source.
package struct Verification {
    package enum Mode: String, Sendable { case full, quick, none }

    package var mode: Mode
    package var step: ResolvedStep
    package var sourcePath: String
    /// Whether nobody can change the source file meanwhile (then it may be opened `immutable` if it has no `-wal`).
    package var isSourcePrivate: Bool
    package var destinationPath: String
    /// A folder for the verification's own lookup files; left empty again.
    package var workFolder: String
    /// What the engine says it did.
    package var counts: [EntityMappingCounts]
    /// `now()` of the run, in seconds since 2001-01-01 UTC.
    package var now: Double
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest

    package init(
        mode: Mode, step: ResolvedStep, sourcePath: String, isSourcePrivate: Bool, destinationPath: String,
        workFolder: String, counts: [EntityMappingCounts], now: Double, trace: TraceHook? = nil,
        progress: ProgressHook? = nil, stop: StopRequest = StopRequest()
    ) {
        self.mode = mode
        self.step = step
        self.sourcePath = sourcePath
        self.isSourcePrivate = isSourcePrivate
        self.destinationPath = destinationPath
        self.workFolder = workFolder
        self.counts = counts
        self.now = now
        self.trace = trace
        self.progress = progress
        self.stop = stop
    }

    /// - Throws: ``FerryError`` when checking itself fails; differences are in the report.
    package func run() throws -> VerificationReport {
        preconditionFailure("not here yet")
    }
}

package struct VerificationReport: Sendable {
    package var mode: Verification.Mode
    /// Rows compared.
    package var checked: Int64
    /// Values made by a policy in code, which cannot be recomputed.
    package var notRecomputed: Int64
    package var differences: [Difference]

    package init(mode: Verification.Mode) {
        self.mode = mode
        checked = 0
        notRecomputed = 0
        differences = []
    }

    /// One kind of difference; the example is a place (table and key), never a value.
    package struct Difference: Sendable, Hashable, Codable {
        package var check: String
        package var entity: String?
        package var count: Int64
        package var example: String?

        package init(check: String, entity: String?, count: Int64, example: String?) {
            self.check = check
            self.entity = entity
            self.count = count
            self.example = example
        }
    }
}
