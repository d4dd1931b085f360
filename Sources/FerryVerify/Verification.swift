package import FerryBase
package import FerryMapping
package import FerryModel
package import FerrySQLite
internal import Foundation

/// How pages and indexes of the destination are checked.
package enum FileCheck: Sendable {
    /// Not at all: a later step reads the file, which is then thrown away, and the last step's file is checked.
    case none
    /// By `quick_check`; full verification compares the entries of indexes with the rows.
    case quick
    /// By `integrity_check`, in which SQLite compares the entries, too; it takes much longer.
    case integrity
}

/// Checks a migrated store against its source.
///
/// Verification reads both stores by SQL of its own and computes the expected values again. Lookup tables are in a
/// file, so that memory does not grow with the store.
package struct Verification: Sendable {
    package var mode: VerifyMode
    package var subject: VerifiedStore
    package var step: ResolvedStep
    /// The store before the step.
    package var sourcePath: String
    /// Whether the source cannot change during verification, so that it is read without locks.
    package var isSourcePrivate: Bool
    package var destinationPath: String
    /// A folder for the lookup file; verification leaves it empty.
    package var workFolder: String
    /// The counts that the engine reported; nil if they are not known any more.
    package var counts: [EntityMappingCounts]?
    /// `now()` of the run, in seconds since 2001-01-01 UTC; nil if it is not known any more.
    package var now: Double?
    /// The folder of external storage files; nil for the folder beside the source.
    package var externalFolder: String?
    /// The decisions of migration policies, which verification cannot compute again.
    package var policies: PolicyEvidence
    /// Per mille of the rows with kept or new keys that are compared cell by cell; all rows are counted.
    package var sampledPerMille: Int64 = 1_000
    /// The links that the migration says it loses; nil if that is not known: then links are not counted.
    package var told: [ToldLoss]?
    /// Names of source objects that no model explains and that the migration drops.
    package var dropping: Set<String> = []
    /// Whether the migration drops values with missing external files, if the newer version needs their contents.
    package var dropsMissingContents = false
    /// Whether the destination cannot change, so that it is read without locks.
    package var isDestinationImmutable = false
    package var fileCheck = FileCheck.quick
    /// The tables, by their new names among others, whose rows no statement of the step could write.
    package var kept: Set<String> = []
    /// The largest value that is read together with its row, in bytes; larger ones are compared in pieces.
    package var valueLimit = 2 << 20
    /// The identity of this verification beside its files, so that a later call can resume it; nil never resumes.
    package var resumeKey: String?
    package var memory = MemoryBudget()
    /// Memory for the values of `unique` that were read last, in bytes; nil for a share of ``memory``.
    package var knownValueLimit: Int?
    var knownValueBytes: Int { knownValueLimit ?? memory.lookups }
    /// The largest number of concurrent parts; nil for the number of processors.
    package var jobs: Int?
    /// The least work between two stops of parts, so that a call with little time left makes progress.
    package var leastNanoseconds: UInt64 = 250_000_000
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest

    package init(
        mode: VerifyMode, of subject: VerifiedStore = .copied(), step: ResolvedStep, sourcePath: String,
        isSourcePrivate: Bool, destinationPath: String, workFolder: String, counts: [EntityMappingCounts]?,
        now: Double?, externalFolder: String? = nil, policies: PolicyEvidence = PolicyEvidence(),
        trace: TraceHook? = nil,
        progress: ProgressHook? = nil, stop: StopRequest = StopRequest()
    ) {
        self.mode = mode
        self.subject = subject
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

    /// The names of all checks, which differences carry.
    package static var checkNames: [String] { allChecks.map { $0.name } }

    /// - Throws: ``FerryError`` when checking itself fails; differences are in the report.
    package func run() throws -> VerificationSummary { try WorkThread.withStack { try runHere() } }

    private func runHere() throws -> VerificationSummary {
        guard mode != .none else { return VerificationSummary() }
        if now == nil { try step.checkNeedsNoTime() }
        return try namingErrors {
            let key = try key
            let lookups = try LookupFile(in: workFolder, key: key)
            do {
                let context = try VerificationContext(self, lookups: lookups, key: key)
                let report = try context.connection.transaction { try check(in: context) }
                try lookups.remove()
                return report
            } catch {
                // Report the first error; the next call resumes the files left behind, or overwrites them.
                do { if key == nil { try lookups.remove() } } catch _ {}
                throw error
            }
        }
    }

    /// Prepares a connection to a store in WAL mode for ``run(before:)``, outside of a transaction: attaches the store itself
    /// a second time, as it is before the transaction that will make the destination, and a file for lookups.
    ///
    /// The second connection to the file reads the last commit: what the transaction writes is in the `-wal`, or in memory.
    package static func attach(workFolder: String, to connection: Connection) throws {
        try connection.attach(path: connection.path, as: "source", mode: .readOnly)
        let lookups = try LookupFile(in: workFolder, key: nil)
        try connection.attach(path: lookups.path, as: "lookups")
        // Without a journal it takes no part in the commit.
        try connection.keepNoJournal(in: "lookups")
        try connection.setPragma("synchronous", to: "OFF", in: "lookups")
        try lookups.unlink()
    }

    /// Verifies the main database of a connection inside the transaction that has made it, before COMMIT.
    ///
    /// - Throws: As ``run()``.
    package func run(before connection: Connection) throws -> VerificationSummary {
        guard mode != .none else { return VerificationSummary() }
        return try namingErrors {
            let virtual = try connection.rows(
                "SELECT name FROM main.sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING rtree%'"
            ).compactMap { $0[0].text }
            return try connection.with(.length, rowLimit) {
                try connection.withMain(named: "destination", meeting: virtual) {
                    try check(in: VerificationContext(self, before: connection))
                }
            }
        }
    }

    /// The largest row that is read: no single one may take all memory.
    var rowLimit: Int { max(valueLimit, memory.limit / 2) }

    private func namingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError where error.isCorrupt {
            throw FerryError(
                .verificationFailed,
                "SQLite cannot read \(destinationPath) or \(sourcePath): a page is damaged (\(error.message)).",
                remedy:
                    "Check both with PRAGMA integrity_check, and the disk; \(action: .again) with \(on: .restart).",
                cause: error)
        } catch let error as DatabaseError {
            throw FerryError(database: error, whileDoing: "verifying \(destinationPath)")
        }
    }

    /// The version of the saved state: a call resumes only a state that counts and hashes in the same way.
    private static let form = "17"

    /// The identity of the verification and of its files; nil if no later call can resume it.
    private var key: String? {
        get throws(FerryError) {
            // Nothing is synced, so a crash of the machine can lose or tear the state: the session must be the same.
            guard let resumeKey, let session = SystemSession.id else { return nil }
            var parts = [resumeKey, session, mode.rawValue, Self.form]
            for path in [sourcePath, sourcePath + "-wal", destinationPath, destinationPath + "-wal"] {
                // Each connection that reads the store can create and remove an empty log.
                let file = try FileLayer().attributesIfPresent(path).flatMap { $0.size > 0 ? $0 : nil }
                parts.append(file.map { "\($0.device) \($0.inode) \($0.size) \($0.modified)" } ?? "none")
            }
            return parts.joined(separator: "\n")
        }
    }

    private func check(in context: VerificationContext) throws -> VerificationSummary {
        let checks = allChecks.filter { (mode == .full || $0.isQuick) && $0.scope.includes(storeAlone: isAlone) }
        try context.progress.once(checks[0].name, in: context) { try checks[0].init().run(in: context) }
        // The other checks need these tables and columns.
        if !context.isUnreadable {
            if !kept.isEmpty {
                try context.progress.once("kept tables", in: context) { try KeptTables(in: context).find() }
            }
            try make(checks.dropFirst().map { $0.init() }, in: context)
        }
        context.report.mode = mode
        context.report.sort(by: Self.checkNames)
        return context.report
    }

    /// Lets walkers run the parts of all checks concurrently, and then finishes each check.
    private func make(_ checks: [any Check], in context: VerificationContext) throws {
        let partsProgress = PartsProgress(progress)
        var parts = try checks.map { try $0.parts(in: context) }
        let before = context.report
        var failure = try make(parts, .first, of: checks, partsProgress, in: context)
        // What was found beside parts that found damage of pages can be a result of that damage.
        if context.progress.state.outcomes.values.contains(where: \.isUnreadable) { context.report = before }
        if failure == nil, !context.progress.state.outcomes.values.contains(where: \.isUnreadable) {
            let later = try checks.map { try $0.laterParts(in: context) }
            failure = try make(later, .later, of: checks, partsProgress, in: context)
            parts = zip(parts, later).map { $0 + $1 }
        }
        try context.takeCaches(memory.verificationCaches(schema: context.connection.schemaBytes))
        // The integrity check reports the damage behind a read error, if it finds any.
        if let failure, !context.progress.state.outcomes.values.contains(where: \.isUnreadable) { throw failure }
        let names = parts.map { $0.map(\.name) }
        parts = []
        for (check, names) in zip(checks, names) {
            let outcomes = names.compactMap { context.progress.state.outcomes[$0] }
            try context.progress.once("parts of \(type(of: check).name)", in: context) {
                for outcome in outcomes { context.report.add(outcome.report) }
            }
            if outcomes.contains(where: \.isUnreadable) { return }
            try context.progress.once(type(of: check).name, in: context) { try check.finish(outcomes, in: context) }
        }
    }

    /// Lets walkers run the parts without an outcome, while this thread does the checks' work beside them.
    private func make(
        _ parts: [[CheckPart]], _ stage: PartsStage, of checks: [any Check], _ partsProgress: PartsProgress,
        in context: VerificationContext
    ) throws -> (any Error)? {
        let work = try checks.compactMap { try $0.workBeside(stage, in: context) }
        let open = parts.flatMap { $0 }.filter { context.progress.state.outcomes[$0.name] == nil }
        if open.isEmpty, work.isEmpty { return nil }
        if context.isInTransaction { return try makeHere(open, beside: work, partsProgress, in: context) }
        let schema = context.connection.schemaBytes
        let processors = jobs ?? ProcessInfo.processInfo.activeProcessorCount
        let count = min(memory.walkers(atMost: processors, beside: ownCacheBytes, schema: schema), open.count)
        // The calling thread's work needs as much cache as a walker.
        let own = work.isEmpty ? ownCacheBytes : memory.verificationCaches(schema: schema) / (count + 1)
        try context.takeCaches(own)
        defer { context.onAnnouncement = nil }
        var isBeside = true
        let caches = memory.walkerCaches(of: count, beside: own, schema: schema)
        return try Walkers.make(open, walkers: count, caches: caches, of: context) { handleEvents in
            context.onAnnouncement = handleEvents
            for work in work { try work() }
            context.onAnnouncement = nil
            isBeside = false
        } take: { part, event in
            switch event {
            case .progress(let update): partsProgress.take(update, of: part)
            case .outcome(let outcome):
                // Work on the calling thread commits by itself, at the points where it can be resumed.
                if isBeside {
                    context.progress.state.outcomes[part.name] = outcome
                } else {
                    try context.progress.record(outcome, of: part.name, in: context)
                }
                partsProgress.take(outcome, of: part)
            }
        }
    }

    /// Makes the parts on the calling thread, by the connection of the transaction.
    private func makeHere(
        _ parts: [CheckPart], beside work: [() throws -> Void], _ partsProgress: PartsProgress,
        in context: VerificationContext
    ) throws -> (any Error)? {
        try context.takeCaches(memory.verificationCaches(schema: context.connection.schemaBytes))
        for work in work { try work() }
        let before = context.report
        defer {
            context.forgetWalk()
            (context.report, context.onProgress) = (before, progress)
        }
        for part in parts {
            context.onProgress = { partsProgress.take($0, of: part) }
            do {
                let outcome = try context.make(part)
                try context.progress.record(outcome, of: part.name, in: context)
                partsProgress.take(outcome, of: part)
            } catch let error as DatabaseError where !error.isInterrupted {
                // Another part may find the damage behind the error.
                return error
            }
        }
        return nil
    }

    /// Cache bytes of the thread that waits for the walkers.
    var ownCacheBytes: Int { 256 << 10 }
}

extension Verification {
    /// Checks a store on its own, against the model of its version.
    ///
    /// The checks cover metadata and entity numbers, keys, references, inverses, constraints, derived values, index
    /// entries, external files, and SQLite's own check of the file. Unlike after a migration, no damage is excused.
    ///
    /// - Parameters:
    ///   - version: The model version of the store.
    ///   - path: The store.
    ///   - isNew: Whether the store has the layout of a new store, so that its schema is checked too; a store that was
    ///     migrated in place has other names.
    ///   - isImmutable: Whether the store cannot change, so that it is read without locks.
    ///   - workFolder: A folder for the lookup file; verification leaves it empty.
    package init(
        ofStore version: ModelVersion, at path: String, isNew: Bool, isImmutable: Bool = false, workFolder: String
    ) {
        // A step without mappings: the source excuses no damage.
        self.init(
            mode: .full, of: .alone(isNew: isNew),
            step: ResolvedStep(source: version, destination: version, mappingModels: [], entityMappings: []),
            sourcePath: path, isSourcePrivate: isImmutable, destinationPath: path, workFolder: workFolder,
            counts: nil, now: nil)
        isDestinationImmutable = isImmutable
    }
}
