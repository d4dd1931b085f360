internal import FerrySQLite
internal import FerryStore

/// Every index has as many entries as its table has rows; partial indexes aside.
struct IndexesCheck: Check {
    static let name = "indexes"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\' ORDER BY tbl_name
            """)
        for table in tables.compactMap({ $0[0].text }) {
            try context.announce(table)
            let indexes = try context.connection.rows(
                "SELECT name FROM pragma_index_list(?, 'destination') WHERE partial = 0 ORDER BY name", [.text(table)])
            let name = "destination.\(Connection.quoted(table))"
            // The sum, not the count: SQLite may answer a count from whichever index it likes.
            let rows = try context.connection.integer("SELECT sum(1) FROM \(name) NOT INDEXED") ?? 0
            for index in indexes.compactMap({ $0[0].text }) {
                let entries =
                    try context.connection.integer(
                        "SELECT sum(1) FROM \(name) INDEXED BY \(Connection.quoted(index))") ?? 0
                if entries != rows {
                    let root = context.destination.tables.values.first { $0.name == table }?.root
                    context.report(
                        IndexesCheck.self, entity: root, count: abs(rows - entries), example: "index \(index)")
                }
            }
        }
    }
}
