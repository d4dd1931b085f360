internal import FerryBase
package import FerryModel
package import FerrySQLite

/// The actual tables, columns and indexes of a store from `sqlite_master`.
package struct StoreCatalog: Sendable {
    package typealias Table = KnownSchema.Table

    /// Ordinary tables in the order of their creation, without SQLite's own (`sqlite_…`).
    package private(set) var tables: [Table] = []
    /// Indexes with a CREATE statement, triggers, views and virtual tables, in the order of their creation.
    package private(set) var objects: [KnownSchema.Object] = []
    /// Columns `GENERATED ALWAYS AS` of ordinary tables, which Core Data never makes.
    private(set) var generatedColumns: [(table: String, name: String)] = []
    private var positions: [String: Int] = [:]

    init(_ known: KnownSchema) {
        (tables, objects) = (known.tables, known.objects)
        setPositions()
    }

    package init(_ connection: Connection, schema: String = "main") throws(DatabaseError) {
        let master = Connection.quoted(schema) + ".sqlite_master"
        for row in try connection.rows("SELECT type, name, tbl_name, sql FROM \(master) ORDER BY rowid") {
            let (type, name, table) = (row[0].text ?? "", row[1].text ?? "", row[2].text ?? "")
            guard let sql = row[3].text, !name.lowercased().hasPrefix("sqlite_") else { continue }
            let isVirtual = type == "table" && sql.uppercased().hasPrefix("CREATE VIRTUAL")
            if type == "table", !isVirtual {
                tables.append(Table(name: name, sql: sql))
            } else {
                objects.append(.init(type: isVirtual ? "virtual table" : type, name: name, table: table, sql: sql))
            }
        }
        setPositions()
        try readColumns(connection, schema: schema)
    }

    private mutating func setPositions() {
        for position in tables.indices { positions[tables[position].name.uppercased()] = position }
    }

    package var indexes: [IndexDefinition] {
        objects.filter { $0.type == "index" }.map { IndexDefinition(name: $0.name, table: $0.table, sql: $0.sql) }
    }

    package var triggers: [TriggerDefinition] {
        objects.filter { $0.type == "trigger" }.map { TriggerDefinition(name: $0.name, table: $0.table, sql: $0.sql) }
    }

    /// Views, triggers and virtual tables.
    package var others: [KnownSchema.Object] { objects.filter { $0.type != "index" } }

    var rTrees: [KnownSchema.Object] {
        objects.filter { $0.type == "virtual table" && RTree.isCoreDatas($0.name, sql: $0.sql) }
    }

    /// Returns a table by name, without regard to case.
    package func table(_ name: String) -> Table? { positions[name.uppercased()].map { tables[$0] } }

    /// Reads the columns of all tables with one statement: a statement for each table took longer than all other work.
    private mutating func readColumns(_ connection: Connection, schema: String) throws(DatabaseError) {
        let rows = try connection.prepare(
            """
            SELECT t.name, c.name, c.type, c.pk, c.hidden
            FROM \(Connection.quoted(schema)).sqlite_master AS t, pragma_table_xinfo(t.name, ?1) AS c
            WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%'
            ORDER BY t.rowid, c.cid
            """)
        try rows.bind(schema, at: 1)
        var keys: [Int: [(place: Int64, name: String)]] = [:]
        while try rows.step() {
            guard let position = positions[rows.text(0).uppercased()] else { continue }
            let name = rows.text(1)
            guard rows.integer(4) == 0 else {
                generatedColumns.append((tables[position].name, name))
                continue
            }
            tables[position].columns.append(Column(name: name, type: rows.text(2)))
            if rows.integer(3) > 0 { keys[position, default: []].append((rows.integer(3), name)) }
        }
        for (position, columns) in keys {
            tables[position].keyColumns = columns.inOrder { $0.place < $1.place }.map(\.name)
        }
    }
}
