internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs the statements of the tables that stay or are made from others: one unit, which first drops and repairs what the
/// run leaves out.
struct Alteration {
    private let context: StepContext
    private var place: ProgressUpdate.StatementPlace
    /// The tables, by old and new names, whose rows no statement can write.
    private(set) var kept: Set<String> = []
    private let reported = Reported()

    private final class Reported { var last: UInt64 = 0 }

    /// The time between two reports during one statement.
    private static let tickNanoseconds: UInt64 = 200_000_000

    private var step: StepPlan { context.step }
    private var options: EngineOptions { context.options }
    private var connection: Connection { context.connection }

    init(_ context: StepContext) {
        self.context = context
        let statements = context.program.operations.filter { $0.phase == .rows }.reduce(0) { $0 + $1.statements.count }
        place = .init(list: 0, index: 0, count: statements + 1)
    }

    mutating func run(_ operation: StepOperation) throws {
        guard try !context.progress.entry(operation.unit).isDone else { return }
        context.isAltering = true
        tell(nil)
        try context.once(operation.unit, phase: .rows, subject: nil) {
            try prepare()
            try execute(operation.statements)
        }
        context.isAltering = false
        // Later operations fill tables, and columns of tables that stay.
        if context.commitsUnits { connection.keep([]) }
    }

    // MARK: Before the statements

    private mutating func prepare() throws {
        if !options.dropping.isEmpty { try context.planning.appObjects.drop(on: connection) }
        // What is filled reads the source, whose damage its statements treat.
        guard step.mode == .inPlace || step.keptPart?.isEmpty == false else { return }
        let repairs = context.source.entityColumnRepairs(options.sourceDamage)
        try connection.withoutTriggers { for repair in repairs { try connection.execute(repair) } }
        let mayHaveUnknownEntities = options.sourceDamage?.contains { $0.kind == .unknownEntity } != false
        if mayHaveUnknownEntities,
            let refusal = try context.planning.refusalToKeepUnknownEntities(by: context.program)
        {
            throw refusal
        }
        // Repairs write to any table, before the statements.
        if repairs.isEmpty { kept = keptTables }
        connection.keep(kept)
        try noteRows()
    }

    private var keptTables: Set<String> {
        let moves = context.program.moves
        return moves.keptTables.union(
            Set(context.planning.appObjects.tables.map(\.name)).subtracting(moves.touchedBeside))
    }

    // MARK: Counts

    /// Records the objects of tables that stay or are made from others, which no executor counts.
    private func noteRows() throws {
        let altered = step.mode == .inPlace ? nil : step.keptPart?.positions
        let mappings = step.resolved.entityMappings.filter { altered?.contains($0.position) ?? true }
        let rows = try rows(of: Set(mappings.map(\.source)))
        for mapping in mappings {
            var entry = ProgressTable.Entry(isDone: true)
            entry.written = rows[mapping.source] ?? 0
            entry.read = entry.written
            try context.progress.save(entry, for: StepOperation.unit(ofRowsOf: mapping.position))
        }
    }

    /// Counts the rows of exactly each source entity, unless the plan has their number.
    private func rows(of entities: Set<String>) throws -> [String: Int64] {
        if let known = step.sourceRows { return known }
        let estimated = context.estimatedEntities
        var rows: [String: Int64] = [:]
        if step.mode == .inPlace, let known = step.rows {
            rows = known.counts.filter { !known.isEstimated($0.key) || estimated.contains($0.key) }
        }
        for table in context.source.tablesInOrder {
            let missing = context.source.entities(inTableOf: table.root)
                .filter { entities.contains($0) && rows[$0] == nil }
            if missing.isEmpty { continue }
            var byNumber: [Int64: Int64] = [:]
            let counts = try connection.rows(
                "SELECT Z_ENT, count(*) FROM \(Connection.quoted(table.name)) GROUP BY Z_ENT")
            for row in counts { byNumber[row[0].integer ?? 0] = row[1].integer ?? 0 }
            for entity in missing { rows[entity] = context.source.number(of: entity).flatMap { byNumber[$0] } ?? 0 }
        }
        return rows
    }

    // MARK: Statements

    private mutating func execute(_ statements: [ProgramStatement]) throws {
        connection.allowSchemaWrites()
        // The memory of planning and of the first checks is not needed beside caches and sorters; what writes no rows
        // has a small cache.
        let bytes = try connection.contentBytes()
        options.memory.releaseUnused(before: statements.contains(where: \.writesRows) ? bytes : 0)
        for statement in statements {
            place.index += 1
            guard statement.writesRows else {
                try execute(statement)
                continue
            }
            try connection.withCache(options.memory.workingCaches) { try execute(statement) }
            // The next index is sorted beside the memory that this statement's cache has left.
            options.memory.releaseUnused(before: bytes)
        }
    }

    private func execute(_ statement: ProgramStatement) throws {
        try options.stop.check()
        tell(statement.reason)
        // A long statement has no progress of its own; the reports keep the time left current.
        try connection.ticking {
            guard Clock.nanoseconds(since: reported.last) >= Self.tickNanoseconds else { return }
            tell(statement.reason)
        } _: {
            try context.execute(statement)
        }
    }

    private func tell(_ subject: String?, phase: Phase = .rows) {
        guard let progress = options.progress else { return }
        var update = ProgressUpdate(phase: phase, subject: subject)
        update.statement = place
        reported.last = Clock.nanoseconds()
        progress(update)
    }
}

extension StepContext {
    /// The entities whose counts are the plan's estimates: the step does not write their rows.
    var estimatedEntities: Set<String> {
        guard step.mode == .inPlace, let rows = step.rows else { return [] }
        let written = program.moves.writtenTables
        return Set(step.resolved.entityMappings.map(\.source)).filter { entity in
            rows.isEstimated(entity) && source.table(of: entity).map { !written.contains($0.name) } == true
        }
    }

    /// Runs a statement; errors of our functions and of constraints get a message in terms of the model.
    func execute(_ statement: ProgramStatement) throws {
        do {
            try connection.run(statement, now: options.now)
        } catch {
            let cause = connection.takeFunctionError()
            if error.isInterrupted { throw error }
            if let cause = cause as? FerryError { throw cause }
            guard error.isConstraint else { throw error }
            throw FerryError.duplicates(
                "The rows break a uniqueness constraint of the new version: \(error.message).", cause: error)
        }
    }

    /// Writes the metadata and the cached model of the new version over those of the old one.
    func writeVersion() throws {
        // The archive of a model takes code and memory that nothing else does.
        options.memory.releaseUnused(before: 0)
        let version = step.resolved.destination
        let metadata = try StoreMetadata.read(from: connection).restamped(for: version)
        try metadata.write(to: connection)
        if try ModelCache.hasModel(connection) { try ModelCache.write(version.model, on: connection) }
        options.memory.releaseUnused(before: 0)
        try removeStaleStatistics()
    }

    /// Removes statistics of tables and indexes that no longer exist under their names.
    private func removeStaleStatistics() throws(DatabaseError) {
        let exists = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'")
        guard exists != nil else { return }
        try connection.execute(
            """
            DELETE FROM sqlite_stat1 WHERE tbl NOT IN (SELECT name FROM sqlite_master WHERE type = 'table')
                OR (idx IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sqlite_master AS m
                    WHERE m.type = 'index' AND m.name = idx AND m.tbl_name = tbl)
                    AND idx <> tbl)
            """)
    }
}
