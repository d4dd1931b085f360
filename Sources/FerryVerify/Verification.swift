package import FerryBase
package import FerryMapping
internal import FerrySQLite

/// Checks a migrated store against its source.
///
/// It reads both stores by its own SQL and recomputes what should be there; what it needs to look up it keeps in a
/// file of its own, so that memory does not grow with the store.
package struct Verification {
    /// How much is checked: all, all but the recomputation of rows and relationships, or nothing.
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
    /// Where the files of values outside the database are; nil for the place beside the source.
    package var externalFolder: String?
    /// What migration policies decided, and so cannot be computed again.
    package var policies: PolicyEvidence
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest

    package init(
        mode: Mode, step: ResolvedStep, sourcePath: String, isSourcePrivate: Bool, destinationPath: String,
        workFolder: String, counts: [EntityMappingCounts], now: Double, externalFolder: String? = nil,
        policies: PolicyEvidence = PolicyEvidence(), trace: TraceHook? = nil,
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
        self.externalFolder = externalFolder
        self.policies = policies
        self.trace = trace
        self.progress = progress
        self.stop = stop
    }

    /// - Throws: ``FerryError`` when checking itself fails; differences are in the report.
    package func run() throws -> VerificationReport {
        guard mode != .none else { return VerificationReport(mode: mode) }
        do {
            let lookups = try LookupFile(in: workFolder)
            do {
                let report = try check(with: lookups)
                try lookups.remove()
                return report
            } catch {
                // The first error is the one to report; what is left behind is overwritten next time.
                do { try lookups.remove() } catch _ {}
                throw error
            }
        } catch let error as DatabaseError {
            throw FerryError(
                .databaseFailed, "Verification could not read \(destinationPath) or \(sourcePath).",
                remedy: "Check the disk and run the migration again.", cause: error)
        }
    }

    private func check(with lookups: LookupFile) throws -> VerificationReport {
        let context = try VerificationContext(self, lookups: lookups)
        try context.connection.transaction {
            for check in allChecks where mode == .full || check.isQuick {
                try stop.check()
                try check.init().run(in: context)
                // Without the tables and columns that the other checks read there is nothing more to find.
                if context.isUnreadable { break }
            }
        }
        return context.report
    }
}
