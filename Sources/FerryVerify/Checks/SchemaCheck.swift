internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Tables, columns, join tables, indexes and entity numbers, as Core Data lays out a new store of the model.
///
/// Of a store that was altered in place the same is asked, but for what cannot be otherwise there: columns stand in
/// another order, those that were dead before stay, and SQLite writes renamed tables and columns in quotes.
struct SchemaCheck: Check {
    static let name = "schema"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        // The layout was read from the store itself then.
        if context.verification.isDestinationAsFound { return }
        try context.announce("sqlite_master")
        for table in context.destination.tables.values.sorted(by: { codeUnitOrder($0.name, $1.name) }) {
            let columns = [("Z_PK", "INTEGER"), ("Z_ENT", "INTEGER"), ("Z_OPT", "INTEGER")]
            try check(
                table.name, columns: columns + table.columns.map { ($0.name, $0.type) }, key: ["Z_PK"],
                entity: table.root, in: context)
        }
        for join in context.destination.joinTables {
            let orders = [join.firstOrderColumn, join.secondOrderColumn].compactMap { $0 }
            try check(
                join.name, columns: ([join.firstColumn, join.secondColumn] + orders).map { ($0, "INTEGER") },
                key: [join.firstColumn, join.secondColumn], entity: join.relationship.entity, in: context)
        }
        try check(
            "Z_PRIMARYKEY",
            columns: [("Z_ENT", "INTEGER"), ("Z_NAME", "VARCHAR"), ("Z_SUPER", "INTEGER"), ("Z_MAX", "INTEGER")],
            key: ["Z_ENT"], entity: nil, in: context)
        if context.isUnreadable { return }
        try checkIndexes(in: context)
        try checkNumbers(in: context)
        try checkAdditions(in: context)
    }

    private func check(
        _ table: String, columns: [(name: String, type: String)], key: [String], entity: String?,
        in context: VerificationContext
    ) throws {
        let actual = try context.connection.rows(
            "SELECT name, type, pk FROM pragma_table_info(?, 'destination') ORDER BY cid", [.text(table)])
        guard !actual.isEmpty else {
            context.isUnreadable = true
            return context.report(SchemaCheck.self, entity: entity, example: table)
        }
        for column in columns {
            guard let found = actual.first(where: { $0[0].text == column.name }) else {
                context.isUnreadable = true
                context.report(SchemaCheck.self, entity: entity, example: "\(table) \(column.name)")
                continue
            }
            if found[1].text != column.type {
                context.report(SchemaCheck.self, entity: entity, example: "\(table) \(column.name)")
            }
        }
        let dead = context.verification.isInPlace ? entity.map { deadColumns(into: $0, context) } ?? [] : []
        for row in actual where !columns.contains(where: { $0.name == row[0].text }) {
            if let name = row[0].text, dead.contains(name) { continue }
            context.report(SchemaCheck.self, entity: entity, example: "\(table) \(row[0].text ?? "")")
        }
        let actualKey = actual.filter { ($0[2].integer ?? 0) > 0 }
            .sorted { ($0[2].integer ?? 0) < ($1[2].integer ?? 0) }.compactMap { $0[0].text }
        if actualKey != key { context.report(SchemaCheck.self, entity: entity, example: "\(table) PRIMARY KEY") }
    }

    /// Columns that no property had before either, in the source tables whose objects come into a root table.
    private func deadColumns(into root: String, _ context: VerificationContext) -> Set<String> {
        var dead: Set<String> = []
        for mapping in context.keepers(into: root) {
            guard let table = context.source.table(of: mapping.source) else { continue }
            dead.formUnion(Set(table.columns.map(\.name)).subtracting(context.source.knownColumns(of: table)))
        }
        return dead
    }

    private func checkIndexes(in context: VerificationContext) throws {
        for index in context.destination.indexes {
            let sql = try context.connection.value(
                "SELECT sql FROM destination.sqlite_master WHERE type = 'index' AND name = ? AND tbl_name = ?",
                [.text(index.name), .text(index.table)])
            let isSame =
                sql?.text == index.sql
                || (context.verification.isInPlace && Self.withoutQuotes(sql?.text) == Self.withoutQuotes(index.sql))
            if !isSame {
                let root = context.destination.tables.values.first { $0.name == index.table }?.root
                context.report(SchemaCheck.self, entity: root, example: "index \(index.name)")
            }
        }
    }

    private static func withoutQuotes(_ sql: String?) -> [Character]? {
        sql?.filter { $0 != "\"" && !$0.isWhitespace }.map { $0 }
    }

    /// `Z_PRIMARYKEY`: one row per entity with its number, name and parent; history's numbers begin at 16001.
    private func checkNumbers(in context: VerificationContext) throws {
        for (entity, number) in context.destination.entityNumbers.sorted(by: { $0.value < $1.value }) {
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
    }

    /// Tables that are neither the model's, nor Core Data's own, nor carried over from the source, nor the run's.
    private func checkAdditions(in context: VerificationContext) throws {
        var known = Set(context.destination.tables.values.map(\.name))
        known.formUnion(context.destination.joinTables.map(\.name))
        known.formUnion(context.destination.rTrees.flatMap { [$0.name] + $0.shadowTables })
        known.formUnion(["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"])
        let added = try context.connection.rows(
            """
            SELECT name FROM destination.sqlite_master WHERE type = 'table'
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                AND name NOT IN (SELECT name FROM source.sqlite_master)
            ORDER BY name
            """)
        for row in added where !known.contains(row[0].text ?? "") {
            context.report(SchemaCheck.self, entity: nil, example: row[0].text)
        }
    }
}
