internal import FerrySQLite

/// A column whose values SQLite computes (`GENERATED ALWAYS AS`), whether it stores them or not.
///
/// Core Data makes none; `pragma_table_info` does not list them.
struct GeneratedColumn {
    /// The word for it among the app's objects.
    static let type = "generated column"

    let table: String
    let name: String

    /// The words by which it is told and asked for.
    var title: String { "\(table).\(name)" }

    /// Reads a ``title``; tables of Core Data have no dot in their names.
    init?(_ title: String) {
        let parts = title.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        (table, name) = (parts[0], parts[1])
    }

    private init(table: String, name: String) { (self.table, self.name) = (table, name) }

    /// Those of all ordinary tables, in the order of their making.
    static func all(on connection: Connection, schema: String) throws(DatabaseError) -> [GeneratedColumn] {
        // The columns of a table are asked for where its statement may compute one: nearly all cannot.
        let rows = try connection.rows(
            """
            SELECT t.name, c.name
            FROM \(Connection.quoted(schema)).sqlite_master AS t, pragma_table_xinfo(t.name, ?1) AS c
            WHERE t.type = 'table' AND t.sql LIKE '%AS%(%' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden IN (2, 3)
            ORDER BY t.rowid, c.cid
            """, [.text(schema)])
        return rows.compactMap { row in
            guard let table = row[0].text, let name = row[1].text else { return nil }
            return GeneratedColumn(table: table, name: name)
        }
    }
}
