internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Objects beside the entities that a migration carries over: every row of the app's tables, the definitions of its
/// other objects, and persistent history with the same objects under their new entity numbers.
struct AppObjectsCheck: Check {
    static let name = "carriedObjects"
    static let isQuick = false
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        let appObjects = try AppObjects(
            of: context.source, into: context.destination, on: context.connection, schema: "source",
            dropping: context.verification.dropping)
        for table in appObjects.tables { try compare(table, in: context) }
        for object in appObjects.objects + appObjects.triggers + appObjects.virtualTables {
            try compareDefinition(of: object.name, object.sql, in: context)
        }
        for object in appObjects.dropped {
            let left = try context.connection.value(
                "SELECT 1 FROM destination.sqlite_master WHERE name = ?", [.text(object.name)])
            if left != nil { context.report(AppObjectsCheck.self, entity: nil, example: object.name) }
        }
        if let mirroring = appObjects.mirroring {
            for table in mirroring.tables { try compareRecords(in: table, context) }
        }
        guard let history = appObjects.history else { return }
        for table in history.plain { try compare(table, in: context) }
        try compare(history, in: context)
    }

    private func compareDefinition(of name: String, _ sql: String, in context: VerificationContext) throws {
        let found = try context.statement(name)
        if found != sql { context.report(AppObjectsCheck.self, entity: nil, example: name) }
    }

    /// Compares rows in the order of their rowids, or of all columns in a table without rowids.
    private func compare(_ table: AppTable, in context: VerificationContext) throws {
        try context.announce(table.name)
        if let sql = table.sql { try compareDefinition(of: table.name, sql, in: context) }
        // No statement could write it.
        if context.verification.kept.contains(table.name) { return }
        if let rowID = table.rowID { return try compare(table, numberedBy: rowID, in: context) }
        let all = table.columns.joined(separator: ", ")
        let rows = try ["source", "destination"].map { schema in
            try context.connection.prepare("SELECT \(all) FROM \(schema).\(table.quotedName) ORDER BY \(all)")
        }
        try compareRows(of: table, in: context, old: { try rows[0].step() }, new: { try rows[1].step() }) {
            table.columns.indices.allSatisfy { StoredValue.raw(rows[0], $0) == StoredValue.raw(rows[1], $0) }
        }
        for row in rows { row.reset() }
    }

    private func compare(
        _ table: AppTable, numberedBy rowID: String, in context: VerificationContext
    ) throws {
        let columns = [rowID] + table.columnNames
        let old = try TableRows(of: table.name, schema: "source", columns: columns, in: context)
        let new = try TableRows(of: table.name, schema: "destination", columns: columns, in: context)
        try compareRows(of: table, in: context, old: { try old.step() }, new: { try new.step() }) {
            try columns.indices.allSatisfy { try old.isEqual($0, new, $0) }
        }
        for rows in [old, new] { rows.reset() }
    }

    private func compareRows(
        of table: AppTable, in context: VerificationContext, old: () throws -> Bool, new: () throws -> Bool,
        areEqual: () throws -> Bool
    ) throws {
        var done: Int64 = 0
        while true {
            let (isOld, isNew) = (try old(), try new())
            guard isOld, isNew else {
                if isOld != isNew { context.report(AppObjectsCheck.self, entity: nil, example: table.name) }
                return
            }
            if try !areEqual() { context.report(AppObjectsCheck.self, entity: nil, example: table.name) }
            done += 1
            context.report.checked += 1
            try context.advance(table.name, done: done, total: nil)
        }
    }

    /// Compares CloudKit's records: each must name the same object, by entity name and key.
    private func compareRecords(in table: AppTable, _ context: VerificationContext) throws {
        guard table.namesEntities else { return try compare(table, in: context) }
        if let sql = table.sql { try compareDefinition(of: table.name, sql, in: context) }
        try context.announce(table.name)
        let name = table.quotedName
        let others = table.columns.filter { $0.uppercased() != "\"ZENTITYID\"" }
        let differs = others.map { "n.\($0) IS NOT o.\($0)" } + ["nz.Z_NAME IS NOT oz.Z_NAME"]
        for (old, new) in [("source", "destination"), ("destination", "source")] {
            let wrong =
                try context.connection.integer(
                    """
                    SELECT count(*) FROM \(old).\(name) AS o LEFT JOIN \(new).\(name) AS n ON n.rowid = o.rowid
                    LEFT JOIN \(old).Z_PRIMARYKEY AS oz ON oz.Z_ENT = o.ZENTITYID
                    LEFT JOIN \(new).Z_PRIMARYKEY AS nz ON nz.Z_ENT = n.ZENTITYID
                    WHERE n.rowid IS NULL OR \(differs.balanced(by: "OR"))
                    """) ?? 0
            context.report(AppObjectsCheck.self, entity: nil, count: wrong, example: table.name)
        }
        context.report.checked += try context.connection.integer("SELECT count(*) FROM source.\(name)") ?? 0
    }

    /// Compares history: the changes of entities that keep their keys, by object and transaction.
    private func compare(_ history: HistoryTables, in context: VerificationContext) throws {
        let table = history.changes.quotedName
        if let sql = history.changes.sql { try compareDefinition(of: history, sql, in: context) }
        var expected: Int64 = 0
        var seen: Set<String> = []
        for mapping in context.step.entityMappings where mapping.keepsPrimaryKey && mapping.policy == nil {
            guard seen.insert(mapping.source).inserted else { continue }
            let (from, to) = (
                try context.sourceNumber(of: mapping.source), try context.destinationNumber(of: mapping.destination)
            )
            let differs = differences(of: history, mapping, context).balanced(by: "OR")
            let counts = try context.connection.rows(
                """
                SELECT count(*), sum(n.Z_PK IS NULL OR n.ZENTITY IS NOT ?2 OR \(differs))
                FROM source.\(table) AS o LEFT JOIN destination.\(table) AS n ON n.Z_PK = o.Z_PK WHERE o.ZENTITY = ?1
                """, [.integer(from), .integer(to)])
            expected += counts.first?[0].integer ?? 0
            context.report(
                AppObjectsCheck.self, entity: mapping.destination, count: counts.first?[1].integer ?? 0,
                example: "ACHANGE ZENTITY \(to)")
        }
        let found = try context.connection.integer("SELECT count(*) FROM destination.\(table)") ?? 0
        context.report(
            AppObjectsCheck.self, entity: nil, count: abs(found - expected), example: "ACHANGE")
    }

    /// Compares the definition of the table of changes, to which a step may add columns at the end.
    private func compareDefinition(
        of history: HistoryTables, _ sql: String, in context: VerificationContext
    ) throws {
        let name = history.changes.name
        let added = context.step.versions.dropFirst().contains { !history.missingTombstones(for: $0.model).isEmpty }
        guard added, let end = sql.lastIndex(of: ")") else {
            return try compareDefinition(of: name, sql, in: context)
        }
        var start = String(sql[..<end])
        while start.last?.isWhitespace == true { start.removeLast() }
        let found = try context.statement(name)
        if found?.hasPrefix(start) != true { context.report(AppObjectsCheck.self, entity: nil, example: name) }
    }

    /// The conditions under which a change differs: the parts that number an entity's properties stay or are empty.
    private func differences(
        of history: HistoryTables, _ mapping: ResolvedEntityMapping, _ context: VerificationContext
    ) -> [String] {
        let kept = HistoryTables.keeps(of: mapping.entities, in: context.step.versions.map(\.model))
        return history.changes.columns.compactMap { column in
            let isKept =
                switch column.uppercased() {
                case "\"Z_PK\"", "\"ZENTITY\"": Bool?.none
                case "\"ZCOLUMNS\"": kept.columns
                case let name: name.hasPrefix("\"ZTOMBSTONE") ? kept.tombstones : true
                }
            return isKept.map { $0 ? "n.\(column) IS NOT o.\(column)" : "n.\(column) IS NOT NULL" }
        }
    }
}
