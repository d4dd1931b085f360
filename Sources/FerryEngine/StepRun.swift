package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs one step of a plan in a place, and reports on it.
///
/// In a file a call resumes an unfinished run, and only reports on a finished one. The destination keeps its progress
/// table until ``finish()``, for verification.
package struct StepRun {
    package var step: StepPlan
    package let place: Place
    package var options: EngineOptions
    package var policies: PolicyRegistry
    /// The program of a step in the store that was found before, if its schema has not changed since.
    package var found: StepProgram?

    package init(
        _ step: StepPlan, in place: Place, options: EngineOptions, policies: PolicyRegistry = PolicyRegistry()
    ) {
        (self.step, self.place, self.options, self.policies) = (step, place, options, policies)
    }

    /// Runs what is left of the program.
    ///
    /// The report has the counts of all calls, but chunk times of this call only. A failed run in a file stays resumable,
    /// and in the store leaves the old version.
    ///
    /// - Parameter beforeCommit: Receives the report of a step in the store before its COMMIT.
    /// - Returns: The report.
    /// - Throws: ``FerryError``.
    package func run(beforeCommit: (StepReport) throws -> Void = { _ in }) throws -> StepReport {
        switch place {
        case .file(let file): try WorkThread.withStack { try run(in: file) }
        case .store(let connection): try run(in: connection, beforeCommit)
        }
    }

    private func run(in file: StepFile) throws -> StepReport {
        var opened: StepContext?
        do {
            let (context, resumed) = try RunDatabase(run: self, file: file).open()
            opened = context
            var report = StepReport()
            report.resumed = resumed
            try run(context, &report)
            return report
        } catch {
            throw try StepFailure(error, whileDoing: "migrating to version \(step.resolved.destination.name)")
                .located(in: opened)
        }
    }

    /// A transaction that is open already becomes the one that is committed.
    private func run(
        in connection: Connection, _ beforeCommit: (StepReport) throws -> Void
    ) throws -> StepReport {
        let report = try connection.abandoning(on: options.stop) {
            var opened: StepContext?
            do {
                if !connection.isInTransaction { try connection.execute("BEGIN IMMEDIATE") }
                var report = StepReport()
                // SQLite holds a rewritten row whole in memory; no row may take all of it.
                try connection.with(.length, options.wholeValueBytes) {
                    let context = try RunDatabase.inStore(self, connection)
                    opened = context
                    try run(context, &report)
                }
                // What follows does not need the memory of planning and statements.
                opened = nil
                try options.stop.check()
                try beforeCommit(report)
                try connection.execute("COMMIT")
                connection.keep([])
                return report
            } catch {
                // SQLite may have rolled back by itself (disk full, I/O error); the first error is the one to report.
                do { if connection.isInTransaction { try connection.execute("ROLLBACK") } } catch {}
                connection.keep([])
                throw try StepFailure(error, inStore: connection.path).located(in: opened)
            }
        }
        options.stop.unitIsDone()
        return report
    }

    private func run(_ context: StepContext, _ report: inout StepReport) throws {
        var operations = try StepOperations(context, policies: policies)
        try operations.run(report: &report)
        try count(context, into: &report)
        if !context.commitsUnits { try context.progress.drop() }
    }

    /// Drops the progress table of a verified destination; the folder's other files are no longer needed.
    package func finish() throws {
        guard case .file(let file) = place else { return }
        do {
            try RunDatabase(run: self, file: file).finish()
        } catch let error as DatabaseError {
            throw FerryError(database: error, whileDoing: "finishing the new store")
        }
    }

    private func count(_ context: StepContext, into report: inout StepReport) throws {
        let estimated = context.estimatedEntities
        for mapping in step.resolved.entityMappings {
            let entry = try context.progress.entry(StepOperation.unit(ofRowsOf: mapping.position))
            var counts = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            counts.read = entry.read
            counts.written = entry.written
            counts.dropped = entry.dropped
            counts.merged = entry.merged
            counts.created = entry.created
            if estimated.contains(mapping.source) { counts.isEstimated = true }
            var others: [EntityMappingCounts] = []
            for entity in mapping.policy == nil ? [] : context.destination.model.sortedEntityNames {
                let entry = try context.progress.entry(PolicyRun.createdUnit(entity, by: mapping))
                if entity == mapping.destination {
                    counts.created += entry.created
                    counts.written += entry.written
                } else if entry.written > 0 {
                    var other = EntityMappingCounts(name: mapping.name, source: mapping.source, destination: entity)
                    (other.created, other.written) = (entry.created, entry.written)
                    others.append(other)
                }
            }
            report.counts += [counts] + others
        }
        report.policies = try PolicyRun.evidence(in: context)
        report.chunks = try context.progress.totalChunks()
        report.healed =
            context.notes.droppedHistory.map { (.droppedHistory, $0.entity, $0.rows) }
            + context.program.fills.damage.carried.map { ($0.kind, $0.entity, $0.rows) }
        report.unmapped = context.notes.unmapped
        guard step.mode == .inPlace else { return }
        report.leftBehind = context.program.moves.leftBehind(
            of: context.planning.appObjects.leftovers, in: try StoreCatalog(context.connection), context.destination)
    }
}

extension StepRun {
    /// A step that fills all tables of a file, unless those of its kept part stay in a copy of the source.
    package init(
        step: StepPlan, sourcePath: String, isSourcePrivate: Bool, folder: String, options: EngineOptions,
        policies: PolicyRegistry = PolicyRegistry(), keepsTables: Bool = false
    ) {
        var step = step
        if !keepsTables { (step.needsCopyBecause, step.keptPart) = ("all tables are filled", nil) }
        let file = StepFile(folder: folder, sourcePath: sourcePath, isSourcePrivate: isSourcePrivate)
        self.init(step, in: .file(file), options: options, policies: policies)
    }

    private var file: StepFile {
        guard case .file(let file) = place else { preconditionFailure("a step in the store has no folder") }
        return file
    }

    package var folder: String { file.folder }
    package var sourcePath: String { file.sourcePath }
    package var isSourcePrivate: Bool { file.isSourcePrivate }
    package var destinationPath: String { file.destinationPath }
    package var scratchPath: String { file.scratchPath }
}

/// The error of a step whose unit, or whose transaction, was rolled back.
private struct StepFailure {
    private let cause: any Error
    private var error: FerryError?

    init(_ cause: any Error, whileDoing work: String) {
        self.cause = cause
        error = (cause as? DatabaseError).map { FerryError(database: $0, whileDoing: work) } ?? (cause as? FerryError)
        if cause is DatabaseError, error?.code == .databaseFailed { error?.message += " The store is unchanged." }
    }

    init(_ cause: any Error, inStore path: String) {
        self.init(cause, whileDoing: "migrating in place")
        guard (cause as? DatabaseError)?.isBusy == true else { return }
        error = FerryError(
            .storeInUseAtSwap, "\(path) is open in another program, so it was not changed.",
            remedy: "Close the app and \(action: .again).", cause: cause)
    }

    /// The error with the object that a statement cannot write.
    func located(in context: StepContext?) throws -> any Error {
        guard let error, let context else { return error ?? cause }
        guard error.code == .valueTooLarge, cause is DatabaseError || context.isAltering else { return error }
        let search = LargeValueSearch(
            layout: context.source, connection: context.connection, schema: context.sourceName)
        let whole = context.options.wholeValueBytes
        if let refusal = try search.refusal(above: whole, context.options, cause: error.cause) { return refusal }
        // If no value alone is too large, several values of one row are.
        guard context.isAltering else { return error }
        return try search.refusal(above: whole / 2, context.options, cause: error.cause) ?? error
    }
}

/// The report of a finished step.
package struct StepReport: Sendable {
    package var counts: [EntityMappingCounts]
    package var unmapped: [(entity: String, rows: Int64)] = []
    package var healed: [(kind: DamageKind, entity: String, rows: Int64)] = []
    /// Tables and columns of earlier versions that the step removed, as `TABLE` or `TABLE.COLUMN`.
    package var leftBehind: [String] = []
    /// The number of chunks of all calls.
    package var chunks = 0
    /// The chunk times of this call.
    package var chunkTimes = ChunkTimes()
    package var resumed = false
    /// The effects of migration policies that verification must know.
    package var policies = PolicyEvidence()
    /// The tables, by old and new names, whose rows no statement of a step in place could write.
    package var kept: Set<String> = []

    package init(counts: [EntityMappingCounts] = []) { self.counts = counts }
}

/// A histogram of chunk times: each bucket is an eighth of a power of two wide, so its size is fixed.
package struct ChunkTimes: Sendable {
    private var buckets = [Int](repeating: 0, count: 64 * 8)
    package private(set) var count = 0
    package private(set) var longest: UInt64 = 0

    package init() {}

    mutating func add(_ nanoseconds: UInt64) {
        buckets[Self.bucket(of: nanoseconds)] += 1
        count += 1
        longest = max(longest, nanoseconds)
    }

    package mutating func add(_ other: ChunkTimes) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// The time that a share of the chunks did not exceed, within an eighth; nil without chunks.
    package func percentile(_ share: Double) -> UInt64? {
        guard count > 0 else { return nil }
        var left = max(1, Int((Double(count) * share).rounded(.up)))
        for (index, number) in buckets.enumerated() where number > 0 {
            left -= number
            if left <= 0 { return min(Self.upperBound(of: index), longest) }
        }
        return nil
    }

    private static func bucket(of nanoseconds: UInt64) -> Int {
        guard nanoseconds >= 8 else { return Int(nanoseconds) }
        let exponent = 63 - nanoseconds.leadingZeroBitCount
        return exponent * 8 + Int((nanoseconds >> UInt64(exponent - 3)) & 7)
    }

    private static func upperBound(of bucket: Int) -> UInt64 {
        guard bucket >= 24 else { return UInt64(bucket) }
        let exponent = bucket / 8
        return (UInt64(8 + bucket % 8 + 1) << UInt64(exponent - 3)) - 1
    }
}
