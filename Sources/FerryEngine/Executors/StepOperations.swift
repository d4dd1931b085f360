internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs the operations of a step's program, in their order.
struct StepOperations {
    private let context: StepContext
    private let policies: PolicyRun
    private let appObjects: AppObjectsPhase
    private let closing: [InPlaceStatement]
    /// The effects of policies, once all of them have run.
    private var evidence: PolicyEvidence?

    init(_ context: StepContext, policies: PolicyRegistry, closing: [InPlaceStatement]) throws {
        (self.context, self.closing) = (context, closing)
        appObjects = try AppObjectsPhase(context: context)
        self.policies = try PolicyRun(context, policies: policies)
    }

    mutating func run(report: inout StepReport) throws {
        for phase in [Phase.rows, .relationships, .indexes] {
            context.options.progress?(ProgressUpdate(phase: phase))
            switch phase {
            case .rows: try RowsPass.checkStatements(context)
            case .relationships: try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
            default: try RunDatabase.shareCaches(RunDatabase.indexCaches, context)
            }
            // Unused memory of the rows phase counts beside the caches and sorters of links and indexes.
            if phase != .rows { releaseUnusedMemory() }
            for operation in context.program.operations where operation.phase == phase {
                try run(operation, in: phase, report: &report)
            }
            if phase == .rows { try CountedTargets.check(context) }
        }
        if context.step.keptPart == nil { try appObjects.createTriggers() }
        for (index, statement) in closing.enumerated() {
            try context.once("closing:\(index)", phase: .indexes, subject: statement.reason) {
                try context.connection.run(statement, now: context.options.now)
            }
        }
    }

    private mutating func run(_ operation: StepOperation, in phase: Phase, report: inout StepReport) throws {
        let (unit, connection, relationships) = (operation.unit, context.connection, context.program.relationships)
        switch operation.work {
        case .rows(let positions): try RowsPass.run(positions, in: context, policies, report: &report)
        case .copyLinks(let table, let origin):
            try context.once(unit, phase: phase, subject: table.name) {
                try copyLinks(table, from: origin)
            }
        case .linkAtOnce(let place): try linkAtOnce(relationships[place], unit)
        case .link(let place, let contribution):
            let assignment = relationships[place]
            try link(assignment, assignment.contributions[contribution], unit, report: &report)
        case .policies:
            try policies.relate(report: &report)
            try policies.validate()
        case .settle(let place): try settle(relationships[place], unit)
        case .positions(let key, let table, let column, let order):
            try context.once(unit, phase: phase, subject: key.title) {
                try OrderKeys.settle(order, of: table, among: column).prepare(on: connection, now: context.options.now)
                    .run()
            }
        case .fillGathered(let table):
            try context.once(unit, phase: phase, subject: table.name) {
                try GatheredLinks(context.sql).statement(filling: table).prepare(
                    on: connection, now: context.options.now
                ).run()
            }
        case .index(let index): try context.once(unit, phase: phase, subject: index.name) { try create(index) }
        case .rTree(let rTree):
            try context.once(unit, phase: phase, subject: rTree.name) { try connection.execute(rTree.sql) }
            try context.walk(
                "rTree:rows:\(rTree.name)", over: "main.\(rTree.table)", phase: phase, subject: rTree.name,
                running: rTree.fill)
        case .highestKeys:
            try context.once(unit, phase: phase, subject: nil) { try recordHighestKeys() }
            try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
        case .appObjects: try appObjects.run(report: &report)
        case .derived(let value):
            // Runs after the indexes: the updates find the counted objects by them.
            try context.walk(
                unit, over: "main.\(value.table)", phase: phase, subject: value.attribute.title, running: value.update)
        case .trigger(let trigger):
            // Core Data's triggers call functions that only Core Data registers: a row written after them would fail.
            try context.once(unit, phase: phase, subject: trigger.name) { try connection.execute(trigger.sql) }
        }
    }

    // MARK: Relationships

    /// Fills a join table by one statement, which sorts its rows once.
    private func linkAtOnce(_ assignment: RelationshipAssignment, _ unit: String) throws {
        for contribution in assignment.contributions {
            let sql = LinkStatements(context.sql, assignment, contribution)
            try context.once(unit, phase: .relationships, subject: assignment.declared.title) {
                guard let statement = try sql.links()?.prepare(on: context.connection, now: context.options.now) else {
                    return
                }
                try statement.bind(KeyRange.all)
                try statement.run()
            }
        }
    }

    private func link(
        _ assignment: RelationshipAssignment, _ contribution: RelationshipContribution, _ unit: String,
        report: inout StepReport
    ) throws {
        let sql = LinkStatements(context.sql, assignment, contribution)
        guard try !context.progress.entry(unit).isDone,
            let statement = try sql.links()?.prepare(on: context.connection, now: context.options.now)
        else { return }
        try context.walk(
            ChunkRanges(of: [contribution.mapping], in: context), unit: unit, phase: .relationships,
            subject: assignment.declared.title,
            writesScratch: context.program.joinTable(assignment.joinTable)?.order == .gathered, report: &report
        ) { range, _ in
            try statement.bind(range)
            try statement.run()
        }
    }

    private mutating func settle(_ assignment: RelationshipAssignment, _ unit: String) throws {
        let evidence = try evidence ?? PolicyRun.evidence(in: context)
        self.evidence = evidence
        let statements = try SettlingStatements(context.sql, assignment, policies: evidence)
            .statements()
        for (index, sql) in statements.enumerated() {
            try context.once("\(unit):\(index)", phase: .relationships, subject: assignment.declared.title) {
                try sql.prepare(on: context.connection, now: context.options.now).run()
            }
        }
    }

    // MARK: Join tables

    /// Copies a join table of the source that holds the same links, column by column.
    ///
    /// If both tables have the same columns, SQLite copies rows and index entries in order, without decoding them.
    /// Otherwise the statement reads rows in the order of the new primary key.
    private func copyLinks(_ table: JoinTable, from origin: JoinTable) throws {
        let connection = context.connection
        guard try hasSameForm(as: origin) else {
            return try connection.execute(
                """
                INSERT OR IGNORE INTO main.\(table.name) (\(table.columns.joined(separator: ", ")))
                SELECT \(origin.columns.joined(separator: ", ")) FROM source.\(origin.name)
                ORDER BY \(origin.firstColumn), \(origin.secondColumn)
                """)
        }
        // An index that is filled together with its table needs no sorting.
        if try hasSameIndex(table, origin) {
            try connection.execute(table.index.sql)
            try context.progress.save(ProgressTable.Entry(isDone: true), for: StepOperation.unit(of: table.index))
        }
        // SQLite copies whole records only in this form: all columns, no ORDER BY, into an empty table.
        try connection.execute("INSERT OR IGNORE INTO main.\(table.name) SELECT * FROM source.\(origin.name)")
    }

    /// Whether the source's table has exactly the columns of a join table, in the same order, and their primary key.
    private func hasSameForm(as origin: JoinTable) throws(DatabaseError) -> Bool {
        let columns = try context.connection.rows(
            "SELECT name, pk FROM pragma_table_xinfo(?, 'source') ORDER BY cid", [.text(origin.name)])
        let keys = [1, 2] + [Int64](repeating: 0, count: origin.columns.count - 2)
        return columns.map(\.[0].text) == origin.columns && columns.map(\.[1].integer) == keys
    }

    private func hasSameIndex(_ table: JoinTable, _ origin: JoinTable) throws(DatabaseError) -> Bool {
        guard context.destination.indexes.contains(table.index) else { return false }
        return try context.connection.integer(
            """
            SELECT 1 FROM pragma_index_list(?1, 'source') AS i WHERE NOT i."unique" AND NOT i.partial
                AND (SELECT group_concat(name || ' ' || "desc" || ' ' || coll) FROM (
                    SELECT * FROM pragma_index_xinfo(i.name, 'source') WHERE key ORDER BY seqno)) = ?2
            """,
            [.text(origin.name), .text("\(origin.secondColumn) 0 BINARY,\(origin.firstColumn) 0 BINARY")]) != nil
    }

    // MARK: Indexes

    private func create(_ index: IndexDefinition) throws {
        do {
            try context.connection.execute(index.sql)
        } catch {
            guard error.isConstraint else { throw error }
            throw FerryError.duplicates(
                "The rows of \(index.table) break the uniqueness constraint of index \(index.name).", cause: error)
        }
    }

    /// Writes `Z_MAX` of each root entity: at least the highest key in use, and the source's value if keys are kept.
    private func recordHighestKeys() throws {
        for (root, table) in context.destination.tables.sorted(by: { $0.key < $1.key }) {
            guard let number = context.destination.number(of: root) else { continue }
            var highest = try context.connection.integer("SELECT max(Z_PK) FROM main.\(table.name)") ?? 0
            highest = max(highest, try NewKeys.lastKeptKey(inTableOf: root, context))
            try context.connection.run(
                "UPDATE main.Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(highest), .integer(number)])
        }
    }
}

extension StepOperation {
    fileprivate var phase: Phase {
        switch work {
        case .rows: .rows
        case .copyLinks, .linkAtOnce, .link, .policies, .settle, .positions, .fillGathered: .relationships
        case .index, .rTree, .highestKeys, .appObjects, .derived, .trigger: .indexes
        }
    }
}

extension FerryError {
    /// Reports rows with equal values, which a unique index does not allow.
    static func duplicates(_ message: String, cause: DatabaseError) -> FerryError {
        FerryError(
            .rowFailed, message,
            remedy:
                "Let a mapping file merge the duplicates of one entity with \"unique\", or drop them with \"where\".",
            cause: cause)
    }
}
