internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Tables, columns, join tables, indexes and entity numbers are as Core Data lays out a new store of the model.
///
/// In a store altered in place, columns may be in another order, dead columns may remain, and SQLite quotes the names
/// of renamed tables and columns. A store that may have other names must still have the numbers and indexes of its
/// model.
struct SchemaCheck: Check {
    static let name = "schema"

    func run(in context: VerificationContext) throws {
        try context.announce("sqlite_master")
        if !context.verification.isAlone { try checkCatalog(in: context) }
        try checkClauses(in: context)
        if context.verification.mayHaveOtherNames {
            // A store on its own may have tables of earlier versions.
            guard !context.verification.isAlone else { return }
            try checkNumbers(in: context)
            if !context.verification.hasIndexesOfTemplate { try checkFoundIndexes(in: context) }
            return try checkAdditions(in: context)
        }
        // The source's tables, which ALTER TABLE may have turned into the destination's.
        let sources =
            context.verification.beganAsSource ? SourceTables(try Self.tableStatements(in: context)) : nil
        for table in context.destination.tables.values.inOrder(by: { codeUnitOrder($0.name, $1.name) }) {
            let columns = [("Z_PK", "INTEGER"), ("Z_ENT", "INTEGER"), ("Z_OPT", "INTEGER")]
            try check(
                table.name, columns: columns + table.columns.map { ($0.name, $0.type) }, key: ["Z_PK"], sql: table.sql,
                entity: table.root, sources, in: context)
        }
        for join in context.destination.joinTables {
            let orders = [join.firstOrderColumn, join.secondOrderColumn].compactMap { $0 }
            try check(
                join.name, columns: ([join.firstColumn, join.secondColumn] + orders).map { ($0, "INTEGER") },
                key: join.keyColumns, sql: join.sql, entity: join.relationship.entity, sources, in: context)
        }
        try check(
            "Z_PRIMARYKEY",
            columns: [("Z_ENT", "INTEGER"), ("Z_NAME", "VARCHAR"), ("Z_SUPER", "INTEGER"), ("Z_MAX", "INTEGER")],
            key: ["Z_ENT"], sql: StoreCreation.sql(ofSystemTable: "Z_PRIMARYKEY"), entity: nil, sources,
            in: context)
        for name in ["Z_METADATA", "Z_MODELCACHE"] {
            try checkText(of: name, StoreCreation.sql(ofSystemTable: name), entity: nil, sources, in: context)
        }
        if context.isUnreadable { return }
        try checkIndexes(in: context)
        try checkNumbers(in: context)
        try checkAdditions(in: context)
    }

    /// The CREATE TABLE statements of Core Data's tables in the source.
    private static func tableStatements(in context: VerificationContext) throws -> [String] {
        try context.connection.rows("SELECT sql FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z*'")
            .compactMap { $0[0].text }
    }

    /// The whole rows of `Z_PRIMARYKEY`.
    private static func numbers(in schema: String, _ context: VerificationContext) throws -> Set<[Value]> {
        Set(try context.connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM \(schema).Z_PRIMARYKEY"))
    }

    /// Checks that every schema object has a known type and, by its exact name, its table or view.
    private func checkCatalog(in context: VerificationContext) throws {
        let wrong = try context.connection.rows(
            """
            SELECT name FROM destination.sqlite_master AS m
            WHERE type NOT IN ('table', 'index', 'view', 'trigger')
                OR CASE WHEN type IN ('table', 'view') THEN tbl_name IS NOT name
                    ELSE tbl_name NOT IN (
                        SELECT name FROM destination.sqlite_master WHERE type IN ('table', 'view')) END
                OR type = 'index' AND sql IS NULL
                    AND substr(name, 1, 18 + length(tbl_name)) IS NOT 'sqlite_autoindex_' || tbl_name || '_'
            """)
        context.report(
            SchemaCheck.self, entity: nil, count: Int64(wrong.count),
            example: wrong.first?[0].text.map { "object \($0)" })
    }

    /// Checks that no table has a clause with which Core Data's INSERTs can fail.
    private func checkClauses(in context: VerificationContext) throws {
        guard
            let clause = context.destination.foreignClause(
                in: try StoreCatalog(context.connection, schema: "destination"))
        else { return }
        let root = context.root(ofTable: clause.table)
        context.report(SchemaCheck.self, entity: root, example: clause.title)
    }

    private func check(
        _ table: String, columns: [(name: String, type: String)], key: [String], sql: String?, entity: String?,
        _ sources: SourceTables?, in context: VerificationContext
    ) throws {
        let actual = try context.connection.rows(
            "SELECT name, type, pk FROM pragma_table_info(?, 'destination') ORDER BY cid", [.text(table)])
        guard !actual.isEmpty else {
            context.isUnreadable = true
            return context.report(SchemaCheck.self, entity: entity, example: table)
        }
        var isExpected = true
        func differs(_ what: String) {
            isExpected = false
            context.report(SchemaCheck.self, entity: entity, example: "\(table) \(what)")
        }
        for column in columns {
            guard let found = actual.first(where: { $0[0].text == column.name }) else {
                context.isUnreadable = true
                differs(column.name)
                continue
            }
            if found[1].text != column.type { differs(column.name) }
        }
        let dead = context.verification.isInPlace ? entity.map { deadColumns(into: $0, context) } ?? [] : []
        for row in actual where !columns.contains(where: { $0.name == row[0].text }) {
            if let name = row[0].text, dead.contains(name) { continue }
            differs(row[0].text ?? "")
        }
        let actualKey = actual.filter { ($0[2].integer ?? 0) > 0 }
            .inOrder { ($0[2].integer ?? 0) < ($1[2].integer ?? 0) }.compactMap { $0[0].text }
        if actualKey != key { differs("PRIMARY KEY") }
        // One difference of a table is enough.
        if isExpected { try checkText(of: table, sql, entity: entity, sources, in: context) }
    }

    /// Checks a table's CREATE TABLE statement: the new one, or a source's as ALTER TABLE can change it; Core Data's
    /// own tables are never altered.
    private func checkText(
        of table: String, _ sql: String?, entity: String?, _ sources: SourceTables?, in context: VerificationContext
    ) throws {
        guard let found = try context.statement(of: "table", table), let sql, found != sql else { return }
        if let sources {
            let columns = try context.connection.rows(
                "SELECT name FROM pragma_table_info(?, 'destination')", [.text(table)])
            let isAltered = TableText(found).isAltered(
                sources, into: TableText(sql), columns: Set(columns.compactMap { $0[0].text }))
            if entity == nil ? sources.statements.contains(found) : isAltered { return }
        }
        context.report(SchemaCheck.self, entity: entity, example: "\(table) CREATE TABLE")
    }

    /// Columns of the source table of a destination root that no property of the source had either.
    private func deadColumns(into root: String, _ context: VerificationContext) -> Set<String> {
        guard let table = context.sourceRoot(into: root).flatMap({ context.source.table(of: $0) }) else { return [] }
        return Set(table.columns.map(\.name)).subtracting(context.source.knownColumns(of: table))
    }

    private func checkIndexes(in context: VerificationContext) throws {
        for index in context.destination.indexes {
            let sql = try context.statement(of: "index", index.name, on: index.table)
            let isSame =
                sql == index.sql
                || (context.verification.beganAsSource && Self.withoutQuotes(sql) == Self.withoutQuotes(index.sql))
            if !isSame {
                let root = context.root(ofTable: index.table)
                context.report(SchemaCheck.self, entity: root, example: "index \(index.name)")
            }
        }
    }

    /// Checks that a store with other names has an index of the same columns for each index of the model.
    ///
    /// It skips tables with other names, and models whose layout only Core Data can write.
    private func checkFoundIndexes(in context: VerificationContext) throws {
        let canonical: StoreLayout
        do {
            canonical = try StoreLayout.canonical(
                for: context.destinationModel, foundTriggers: .of(context.destination))
        } catch {
            return
        }
        let found = try context.connection.rows(
            "SELECT tbl_name, sql FROM destination.sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        let known = Set(found.map { Self.columns(ofIndexOn: $0[0].text ?? "", $0[1].text ?? "") })
        let tables = Set(context.destination.tables.values.map(\.name) + context.destination.joinTables.map(\.name))
        for index in canonical.indexes where tables.contains(index.table) {
            guard !known.contains(Self.columns(ofIndexOn: index.table, index.sql)) else { continue }
            let root = context.root(ofTable: index.table)
            context.report(SchemaCheck.self, entity: root, example: "index \(index.name)")
        }
    }

    /// The table, and the index's SQL from its column list on.
    private static func columns(ofIndexOn table: String, _ sql: String) -> String {
        table + String(withoutQuotes(sql.firstIndex(of: "(").map { String(sql[$0...]) }) ?? [])
    }

    private static func withoutQuotes(_ sql: String?) -> [Character]? {
        sql?.filter { $0 != "\"" && !$0.isWhitespace }.map { $0 }
    }

    /// Checks `Z_PRIMARYKEY`: one row per entity with its number, name and parent; history's numbers begin at 16001.
    private func checkNumbers(in context: VerificationContext) throws {
        for (entity, number) in context.destination.entityNumbers.inOrder(by: { $0.value < $1.value }) {
            let parent = context.destinationModel.entities[entity]?.superentity
            let expected: [[Value]] = [[.text(entity), .integer(parent.flatMap(context.destination.number) ?? 0)]]
            let actual = try context.connection.rows(
                "SELECT Z_NAME, Z_SUPER FROM destination.Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer(number)])
            if actual != expected {
                context.report(SchemaCheck.self, entity: entity, example: "Z_PRIMARYKEY Z_ENT \(number)")
            }
        }
        let numbers = Set(context.destination.entityNumbers.values)
        let unknown = try context.connection.rows("SELECT Z_ENT FROM destination.Z_PRIMARYKEY WHERE Z_ENT < 16000")
            .compactMap { $0[0].integer }.filter { !numbers.contains($0) }
        context.report(
            SchemaCheck.self, entity: nil, count: Int64(unknown.count),
            example: unknown.first.map { "Z_PRIMARYKEY Z_ENT \($0)" })
        // The numbers of history and CloudKit are not the model's, and remain; a copy lacks those of tables that it lacks.
        let (old, new) = (try Self.numbers(in: "source", context), try Self.numbers(in: "destination", context))
        let history = try context.connection.rows(
            "SELECT 1 FROM destination.sqlite_master WHERE type = 'table' AND name = 'ACHANGE' COLLATE NOCASE")
        let isWhole = context.verification.beganAsSource || !history.isEmpty
        let changed = (isWhole ? new.symmetricDifference(old) : new.subtracting(old))
            .compactMap { $0[0].integer }.filter { $0 > 16000 }.sorted()
        context.report(
            SchemaCheck.self, entity: nil, count: Int64(changed.count),
            example: changed.first.map { "Z_PRIMARYKEY Z_ENT \($0)" })
    }

    /// Reports tables that are not the model's, Core Data's own, carried over from the source, or the run's.
    private func checkAdditions(in context: VerificationContext) throws {
        var known = Set(context.destination.tables.values.map(\.name))
        known.formUnion(context.destination.joinTables.map(\.name))
        known.formUnion(context.destination.rTrees.flatMap { [$0.name] + $0.shadowTables })
        known.formUnion(["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"])
        known.formUnion(
            try context.connection.rows("SELECT name FROM source.sqlite_master").compactMap { $0[0].text })
        // A run keeps tables of its own in a file until it ends; of those, a step that alters one has its record.
        let prefix = context.verification.isInPlace ? "ferry\\_progress%" : "ferry\\_%"
        let found = try context.connection.rows(
            """
            SELECT name FROM destination.sqlite_master
            WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\(prefix)' ESCAPE '\\'
            ORDER BY name
            """)
        for row in found where !known.contains(row[0].text ?? "") {
            context.report(SchemaCheck.self, entity: nil, example: row[0].text)
        }
    }
}
