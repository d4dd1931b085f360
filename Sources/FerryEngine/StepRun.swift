package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs one copy step of a plan into a run folder.
///
/// The folder gets `destination.sqlite`, unless the run of the kept part has made it, and `scratch.sqlite`. A call
/// resumes an unfinished run, and only reports on a finished one. The destination keeps its progress table until
/// ``finish()``, for verification.
package struct StepRun {
    package var step: StepPlan
    package var sourcePath: String
    /// Whether no other program can change the source file during the run (a finished earlier step).
    package var isSourcePrivate: Bool
    package var folder: String
    package var options: EngineOptions
    package var policies: PolicyRegistry
    /// The last operations of the kept part: the app's views and triggers, which its destination has lost.
    package var closing: [StepOperation] = []

    /// `keepsTables`: the tables of the step's kept part stay; that part has run in place on the destination.
    package init(
        step: StepPlan, sourcePath: String, isSourcePrivate: Bool, folder: String, options: EngineOptions,
        policies: PolicyRegistry = PolicyRegistry(), keepsTables: Bool = false
    ) {
        self.policies = policies
        self.step = step
        if !keepsTables { self.step.keptPart = nil }
        self.sourcePath = sourcePath
        self.isSourcePrivate = isSourcePrivate
        self.folder = folder
        self.options = options
    }

    package var destinationPath: String { folder + "/destination.sqlite" }
    package var scratchPath: String { folder + "/scratch.sqlite" }

    /// Copies rows, links and indexes, each in units that the progress table records.
    ///
    /// The report has the counts of all calls, but chunk times of this call only. A failed run stays resumable.
    package func run() throws -> StepReport { try WorkThread.withStack { try runHere() } }

    private func runHere() throws -> StepReport {
        var opened: StepContext?
        do {
            let (context, resumed) = try RunDatabase(run: self).open()
            opened = context
            var report = StepReport()
            report.resumed = resumed
            var operations = try StepOperations(context, policies: policies)
            try operations.run(report: &report)
            try count(context, into: &report)
            return report
        } catch let error as DatabaseError {
            if error.isTooBig, let context = opened {
                let search = LargeValueSearch(layout: context.source, connection: context.connection, schema: "source")
                if let refusal = try search.refusal(above: options.wholeValueBytes, options, cause: error) {
                    throw refusal
                }
            }
            throw FerryError(database: error, whileDoing: "migrating to version \(step.resolved.destination.name)")
        }
    }

    /// Drops the progress table of a verified destination; the folder's other files are no longer needed.
    package func finish() throws {
        do {
            try RunDatabase(run: self).finish()
        } catch let error as DatabaseError {
            throw FerryError(database: error, whileDoing: "finishing the new store")
        }
    }

    private func count(_ context: StepContext, into report: inout StepReport) throws {
        for mapping in step.resolved.entityMappings {
            let entry = try context.progress.entry(StepOperation.unit(ofRowsOf: mapping.position))
            var counts = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            counts.read = entry.read
            counts.written = entry.written
            counts.dropped = entry.dropped
            counts.merged = entry.merged
            counts.created = entry.created
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
        report.healed += context.program.fills.damage.carried.map { ($0.kind, $0.entity, $0.rows) }
        for entity in step.resolved.droppedEntities {
            guard let number = context.source.number(of: entity), let table = context.source.table(of: entity) else {
                continue
            }
            let rows = try context.connection.integer(
                "SELECT count(*) FROM source.\(table.name) WHERE Z_ENT = ?", [.integer(number)])
            if let rows, rows > 0 { report.unmapped.append((entity, rows)) }
        }
    }
}

extension FerryError {
    /// Wraps an SQLite error in a message that names the failed work.
    init(database error: DatabaseError, whileDoing work: String) {
        if error.isInterrupted {
            self.init(.interrupted, "Stopped while \(work).", remedy: "\(action: .again) to continue.", cause: error)
        } else if error.isTooBig {
            self.init(
                .valueTooLarge, "A value or a row is too large for memory while \(work).",
                remedy: "Set \(setting: .memoryLimit) to at least twice its size and \(action: .again).", cause: error)
        } else if error.isOutOfMemory {
            self.init(
                .outOfMemory, "SQLite ran out of memory while \(work).",
                remedy: "Raise \(setting: .memoryLimit) and \(action: .again) to continue.", cause: error)
        } else if error.isFull {
            self.init(
                .databaseFailed, "The disk is full while \(work).",
                remedy: "Free space on it and \(action: .again) to continue.", cause: error)
        } else {
            self.init(
                .databaseFailed, "SQLite failed while \(work): \(error.message) (code \(error.code)).",
                remedy: "The store is unchanged; \(action: .again) to continue.", cause: error)
        }
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
