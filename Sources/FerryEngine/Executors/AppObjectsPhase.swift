internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Copies persistent history, CloudKit records and the app's own schema objects, unless they are in the file already.
///
/// The phase runs after the model's rows and indexes, which app objects name, and before the model's triggers.
struct AppObjectsPhase {
    let context: StepContext
    let appObjects: AppObjects
    private let statements: AppObjectStatements

    init(context: StepContext) throws {
        self.context = context
        appObjects = try AppObjects(
            of: context.source, into: context.destination, on: context.connection, schema: "source",
            dropping: context.options.dropping)
        if let refusal = appObjects.refusals.first { throw refusal }
        try appObjects.checkMirroring(context.step.resolved, context.source, on: context.connection, schema: "source")
        statements = AppObjectStatements(appObjects, in: context.sql)
    }

    func run(report: inout StepReport) throws {
        guard context.step.keptPart == nil else {
            // The destination began with the source's pages, and has them.
            if let history = appObjects.history {
                try reportDropped(history.changes, statements.translations, in: &report)
            }
            return
        }
        for table in appObjects.virtualTables { try create(table) }
        for table in appObjects.tables { try copy(table) }
        if let history = appObjects.history { try copy(history, report: &report) }
        if let mirroring = appObjects.mirroring { try copy(mirroring) }
        if appObjects.history != nil || appObjects.mirroring != nil { try copySystemNumbers() }
        for object in appObjects.objects { try create(object) }
        if appObjects.hasStatistics { try copyStatistics() }
    }

    /// Creates the app's triggers; call it after the last row is written.
    func createTriggers() throws {
        for trigger in appObjects.triggers { try create(trigger) }
    }

    private func create(_ object: AppObjects.Object) throws {
        try context.once("carry:\(object.type):\(object.name)", phase: .indexes, subject: object.name) {
            try context.connection.execute(object.sql)
        }
    }

    private func create(_ indexes: [IndexDefinition]) throws {
        for index in indexes {
            try context.once(StepOperation.unit(of: index), phase: .indexes, subject: index.name) {
                try context.connection.execute(index.sql)
            }
        }
    }

    // MARK: Tables

    private func copy(_ table: AppTable, by statement: String? = nil) throws {
        let unit = "carry:rows:\(table.name)"
        // Needed in a resumed run too: the copy writes the shadow tables of a virtual table directly.
        if table.sql == nil { context.connection.allowSchemaWrites() }
        try context.once("make:\(table.name)", phase: .rows, subject: table.name) {
            try context.connection.execute(AppObjectStatements.making(table))
        }
        guard let rowID = table.rowID else {
            return try context.once(unit, phase: .rows, subject: table.name) {
                try context.connection.execute(statement ?? table.copy())
            }
        }
        try context.walk(
            unit, over: "source.\(table.quotedName)", key: rowID, phase: .rows, subject: table.name,
            running: statement ?? table.copy(), largeRow: statement == nil ? largeRows(of: table, rowID: rowID) : nil)
        try copySequence(of: table)
    }

    /// Makes the function that copies a row with values that are too large for their chunk.
    private func largeRows(of table: AppTable, rowID: String) throws -> ChunkWalk.LargeRowCopy {
        let cells = zip(table.columns, table.columnNames).map { quoted, name in
            LargeCell(
                name: quoted, rawName: name, sql: quoted,
                origin: .init(table: table.name, column: name, value: quoted, key: rowID))
        }
        let writer = try LargeRowWriter(table.name, key: rowID, cells: cells, of: (table.name, nil), in: context)
        let select = try context.connection.prepare(
            """
            SELECT \(([rowID] + writer.selection).joined(separator: ", ")) FROM source.\(table.quotedName)
            WHERE \(rowID) > ?1 AND \(rowID) <= ?2
            """)
        return { range, entries in
            try select.bind([.integer(range.low), .integer(range.high)])
            defer { select.reset() }
            try writer.refusing(range.high) {
                while try select.step() {
                    try writer.write(select.integer(0), from: select, at: 1, of: range.high)
                    entries[0].read += 1
                }
            }
        }
    }

    /// Copies the highest number that an AUTOINCREMENT column ever had.
    private func copySequence(of table: AppTable) throws {
        for schema in ["source", "main"] {
            let exists = try context.connection.integer(
                "SELECT 1 FROM \(schema).sqlite_master WHERE name = 'sqlite_sequence'")
            if exists == nil { return }
        }
        try context.once("sequence:\(table.name)", phase: .rows, subject: table.name) {
            for statement in AppObjectStatements.sequence {
                try context.connection.run(statement, [.text(table.name)])
            }
        }
    }

    /// Copies the ANALYZE statistics of tables and indexes that the new store has.
    private func copyStatistics() throws {
        try context.once("carry:sqlite_stat1", phase: .indexes, subject: "sqlite_stat1") {
            for statement in AppObjectStatements.statistics { try context.connection.execute(statement) }
            for model in context.step.resolved.middle.map(\.model) { try dropStatistics(missingIn: model) }
        }
    }

    /// Drops statistics of tables and indexes that an intermediate version of the step does not have.
    private func dropStatistics(missingIn model: ManagedObjectModel) throws {
        let passed = try StoreLayout.canonical(for: model, foundTriggers: .assumed)
        func names(_ layout: StoreLayout) -> Set<String> {
            Set(layout.tables.values.map(\.name) + layout.joinTables.map(\.name) + layout.indexes.map(\.name))
        }
        for name in names(context.destination).subtracting(names(passed)).sorted() {
            try context.connection.run(
                "DELETE FROM main.sqlite_stat1 WHERE tbl = ?1 OR idx = ?1", [.text(name)])
        }
    }

    // MARK: History

    /// Copies history transactions unchanged, and changes with the new numbers of their entities.
    ///
    /// Changes are left out if their objects get new keys or lose their entity: their object IDs are not valid then.
    private func copy(_ history: HistoryTables, report: inout StepReport) throws {
        for table in history.plain { try copy(table) }
        let changes = history.changes
        try context.once("make:\(changes.name)", phase: .rows, subject: changes.name) {
            for statement in statements.makingChanges(of: history) { try context.connection.execute(statement) }
        }
        let translations = statements.translations
        try context.walk(
            "carry:\(changes.name)", over: "source.\(changes.quotedName)", phase: .rows, subject: changes.name,
            running: history.copy(translations))
        try create(history.indexes)
        try reportDropped(changes, translations, in: &report)
    }

    /// Copies the `Z_PRIMARYKEY` rows of history and CloudKit entities.
    private func copySystemNumbers() throws {
        try context.once("carry:systemNumbers", phase: .rows, subject: nil) {
            try context.connection.execute(AppObjectStatements.systemNumbers)
        }
    }

    private func reportDropped(
        _ changes: AppTable, _ translations: [HistoryTables.Translation], in report: inout StepReport
    ) throws {
        let kept = Set(translations.map(\.from))
        let names = Dictionary(
            context.source.entityNumbers.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let rows = try context.connection.rows(
            "SELECT ZENTITY, count(*) FROM source.\(changes.quotedName) GROUP BY ZENTITY ORDER BY ZENTITY")
        for row in rows where !kept.contains(row[0].integer ?? 0) {
            let name = names[row[0].integer ?? 0] ?? "entity \(row[0].integer ?? 0)"
            report.healed.append((.droppedHistory, name, row[1].integer ?? 0))
        }
    }

    // MARK: CloudKit

    /// Copies each CloudKit record with the new number of its object's entity; the objects keep their keys.
    private func copy(_ mirroring: MirroringTables) throws {
        for table in mirroring.tables { try copy(table, by: try statements.copying(table)) }
        try create(mirroring.indexes)
    }
}

extension AppObjects {
    /// Refuses CloudKit records that the step would make invalid.
    func checkMirroring(
        _ step: ResolvedStep, _ source: StoreLayout, on connection: Connection, schema: String
    ) throws {
        guard let mirroring else { return }
        let refusal = try MirroringRefusal.find(
            mirroring, step,
            unknownEntities: { try mirroring.rowsOfUnknownEntities(to: source, on: connection, schema: schema) })
        if let refusal { throw refusal }
    }
}
