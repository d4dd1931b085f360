package import FerryBase
package import FerryMapping
package import FerryModel
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// Checks a migrated store against its source.
///
/// It reads both stores by its own SQL and recomputes what should be there; what it needs to look up it keeps in a
/// file of its own, so that memory does not grow with the store.
package struct Verification: Sendable {
    /// How much is checked: all, all but the recomputation of rows and relationships, or nothing.
    package enum Mode: String, Sendable { case full, quick, none }

    package var mode: Mode
    package var step: ResolvedStep
    /// The store before the step; where it is the destination's own file, its main file without the `-wal`.
    package var sourcePath: String
    /// Whether the source cannot change meanwhile, so that it is read without locks.
    package var isSourcePrivate: Bool
    package var destinationPath: String
    /// A folder for the verification's own lookup files; left empty again.
    package var workFolder: String
    /// What the engine says it did; nil when that is not known any more.
    package var counts: [EntityMappingCounts]?
    /// `now()` of the run, in seconds since 2001-01-01 UTC; nil when that is not known any more.
    package var now: Double?
    /// Whether the destination is the source's own file, altered: it may keep what the source had beyond its model,
    /// and its damage.
    package var isInPlace: Bool
    /// Where the files of values outside the database are; nil for the place beside the source.
    package var externalFolder: String?
    /// What migration policies decided, and so cannot be computed again.
    package var policies: PolicyEvidence
    /// Of a thousand rows with kept or new keys, how many are compared cell by cell; all are counted.
    package var sampledPerMille: Int64 = 1_000
    /// Names of objects that no model explains and that are left out.
    package var dropping: Set<String> = []
    /// Whether values whose files are not there are left out, where the newer version wants their contents.
    package var dropsMissingContents = false
    /// Whether the destination stands at its place, to be verified by a command of its own, not inside a run.
    package var isDestinationAsFound = false
    /// Whether such a destination is known to be what a run has made: then it is laid out as in that run.
    package var isKnownRun = false
    /// Whether it has the indexes of a store that it was made like, which need not be those of its model.
    package var hasIndexesOfStore = false
    /// Whether the destination may have other names than a new store of its model: then its own are taken as they are.
    var mayHaveOtherNames: Bool { isDestinationAsFound && !isKnownRun }
    /// Whether the destination cannot change, so that it is read without locks.
    package var isDestinationImmutable = false
    /// Whether SQLite compares indexes with their tables too (`integrity_check`), which takes much longer.
    package var isThorough = false
    /// Whether the destination is checked by itself, without a migration that led to it.
    var isStoreAlone = false
    /// The largest value that is read together with its row, in bytes; others are compared in pieces.
    package var valueLimit = 2 << 20
    /// What this verification is of, beside its files, so that a later call may go on with it; nil to begin anew always.
    package var resumeKey: String?
    package var memory = MemoryBudget()
    /// What may be kept in memory of the values of `unique` that were met last, in bytes; nil for a share of ``memory``.
    package var knownValueLimit: Int?
    var knownValueBytes: Int { knownValueLimit ?? memory.lookups }
    /// How many parts are made at one time at most; nil for as many as there are processors.
    package var jobs: Int?
    /// The least work between two stops within a table, so that a call with little time left does not stop all the time.
    package var leastNanoseconds: UInt64 = 250_000_000
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest

    package init(
        mode: Mode, step: ResolvedStep, sourcePath: String, isSourcePrivate: Bool, destinationPath: String,
        workFolder: String, counts: [EntityMappingCounts]?, now: Double?, isInPlace: Bool = false,
        externalFolder: String? = nil, policies: PolicyEvidence = PolicyEvidence(), trace: TraceHook? = nil,
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
        self.isInPlace = isInPlace
        self.externalFolder = externalFolder
        self.policies = policies
        self.trace = trace
        self.progress = progress
        self.stop = stop
    }

    /// The names of all checks, which differences carry.
    package static var checkNames: [String] { allChecks.map { $0.name } }

    /// - Throws: ``FerryError`` when checking itself fails; differences are in the report.
    package func run() throws -> VerificationReport { try WorkThread.withStack { try runHere() } }

    private func runHere() throws -> VerificationReport {
        guard mode != .none else { return VerificationReport(mode: mode) }
        if now == nil { try step.checkNeedsNoTime() }
        do {
            let key = try key
            let lookups = try LookupFile(in: workFolder, key: key)
            do {
                let report = try check(with: lookups, key: key)
                try lookups.remove()
                return report
            } catch {
                // The first error is the one to report; what is left behind is gone on with, or overwritten.
                do { if key == nil { try lookups.remove() } } catch _ {}
                throw error
            }
        } catch let error as DatabaseError where error.isTooBig {
            throw FerryError(
                .valueTooLarge,
                "A value that must be whole in memory to be checked takes more of it than \(memory.limit >> 20) MiB.",
                remedy: "Give \(setting: .memoryLimit) at least twice its size.", cause: error)
        } catch let error as DatabaseError where error.isInterrupted {
            throw FerryError(
                .interrupted, "Stopped while verifying.", remedy: "\(action: .again) to go on.", cause: error)
        } catch let error as DatabaseError {
            throw FerryError(
                .databaseFailed, "Verification could not read \(destinationPath) or \(sourcePath).",
                remedy: "Check the disk and run the migration again.", cause: error)
        }
    }

    /// What an earlier call has left is only gone on with where it counted and hashed in the same way.
    private static let form = "5"

    /// The verification and the state of its files; nil when it cannot be gone on with.
    private var key: String? {
        get throws(FerryError) {
            // What is not synced is lost or torn when the machine goes down, so it must be the same session.
            guard let resumeKey, let session = SystemSession.id else { return nil }
            var parts = [resumeKey, session, mode.rawValue, Self.form]
            for path in [sourcePath, sourcePath + "-wal", destinationPath, destinationPath + "-wal"] {
                // An empty log comes and goes with each connection that reads the store.
                let file = try FileLayer().attributesIfPresent(path).flatMap { $0.size > 0 ? $0 : nil }
                parts.append(file.map { "\($0.device) \($0.inode) \($0.size) \($0.modified)" } ?? "none")
            }
            return parts.joined(separator: "\n")
        }
    }

    private func check(with lookups: LookupFile, key: String?) throws -> VerificationReport {
        let context = try VerificationContext(self, lookups: lookups, key: key)
        try context.connection.transaction {
            let checks = allChecks.filter {
                (mode == .full || $0.isQuick) && $0.scope.includes(storeAlone: isStoreAlone)
            }
            try context.progress.once(checks[0].name, in: context) { try checks[0].init().run(in: context) }
            // Without the tables and columns that the other checks read there is nothing more to find.
            if context.isUnreadable { return }
            try make(checks.dropFirst().map { $0.init() }, in: context)
        }
        context.report.sort(by: Self.checkNames)
        return context.report
    }

    /// Lets walkers make the parts of all checks, beside each other, and then each check what is left of it.
    private func make(_ checks: [any Check], in context: VerificationContext) throws {
        let told = PartsProgress(progress)
        var parts = try checks.map { try $0.parts(in: context) }
        var failure = try make(parts, told, in: context)
        if failure == nil, !context.progress.state.outcomes.values.contains(where: \.isUnreadable) {
            let later = try checks.map { try $0.laterParts(context.progress.state.outcomes, in: context) }
            let beside = try checks.contains { try $0.hasWorkBeside(in: context) } ? checks : []
            failure = try make(later, beside: beside, told, in: context)
            parts = zip(parts, later).map { $0 + $1 }
        }
        try context.takeCaches(memory.workingCaches)
        // What cannot be read is said by SQLite's own check of the file, if that finds it.
        if let failure, !context.progress.state.outcomes.values.contains(where: \.isUnreadable) { throw failure }
        for (check, parts) in zip(checks, parts) {
            let outcomes = parts.compactMap { context.progress.state.outcomes[$0.name] }
            try context.progress.once("parts of \(type(of: check).name)", in: context) {
                for outcome in outcomes { context.report.add(outcome) }
            }
            if outcomes.contains(where: \.isUnreadable) { return }
            try context.progress.once(type(of: check).name, in: context) { try check.finish(outcomes, in: context) }
        }
    }

    /// Lets walkers make the parts that no earlier call has made, while this thread makes what checks make beside them.
    private func make(
        _ parts: [[CheckPart]], beside checks: [any Check] = [], _ told: PartsProgress,
        in context: VerificationContext
    ) throws -> (any Error)? {
        let open = parts.flatMap { $0 }.filter { context.progress.state.outcomes[$0.name] == nil }
        if open.isEmpty, checks.isEmpty { return nil }
        let count = min(walkers, open.count)
        // Work of its own needs as much as a walker's.
        let own = checks.isEmpty ? ownCacheBytes : memory.workingCaches / (count + 1)
        if !checks.isEmpty { try context.takeCaches(own) }
        defer { context.onLook = nil }
        var isBeside = true
        let caches = (memory.workingCaches - own) / max(count, 1)
        return try Walkers.make(open, walkers: count, caches: caches, of: context) { look in
            context.onLook = look
            for check in checks { try check.runBeside(in: context) }
            context.onLook = nil
            isBeside = false
        } take: { part, event in
            switch event {
            case .progress(let update): told.take(update, of: part)
            case .outcome(let outcome):
                // In the middle of other work there is nothing to commit: that says itself where it can be gone on with.
                if isBeside {
                    context.progress.state.outcomes[part.name] = outcome
                } else {
                    try context.progress.record(outcome, of: part.name, in: context)
                }
                told.take(outcome, of: part)
            }
        }
    }

    /// How many walkers there are at most: no more than their caches find room for.
    var walkers: Int {
        let jobs = jobs ?? ProcessInfo.processInfo.activeProcessorCount
        return max(1, min(jobs, (memory.workingCaches - ownCacheBytes) / Self.leastCacheBytes))
    }

    /// What the thread that waits for the walkers has of the caches meanwhile.
    var ownCacheBytes: Int { 256 << 10 }

    /// Below this the caches of a walker hold hardly more than the way down its b-trees; beside them it takes a quarter
    /// of that for schemas and statements.
    private static let leastCacheBytes = 2 << 20
}

extension Verification {
    /// Checks a store by itself, against the model it was written with.
    ///
    /// What holds for every sound store: metadata and numbers of the model, keys, references, inverses, constraints,
    /// derived values, index entries, external files, and SQLite's own check of the file. Unlike after a migration,
    /// nothing is excused.
    ///
    /// - Parameters:
    ///   - version: The model version of the store.
    ///   - path: The store.
    ///   - isNew: Whether the store is laid out as Core Data lays out a new one, so that its schema is checked too; one
    ///     that was migrated in place has names of its own.
    ///   - isImmutable: Whether the store cannot change, so that it is read without locks.
    ///   - workFolder: A folder for the lookup file; left empty again.
    package init(
        ofStore version: ModelVersion, at path: String, isNew: Bool, isImmutable: Bool = false, workFolder: String
    ) {
        // A step that maps nothing: what no mapping carried over has no excuse in a source.
        self.init(
            mode: .full,
            step: ResolvedStep(source: version, destination: version, mappingModels: [], entityMappings: []),
            sourcePath: path, isSourcePrivate: isImmutable, destinationPath: path, workFolder: workFolder,
            counts: nil, now: nil)
        isDestinationAsFound = !isNew
        isDestinationImmutable = isImmutable
        isStoreAlone = true
    }
}
