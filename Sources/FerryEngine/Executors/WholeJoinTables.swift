internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension StepProgram {
    /// The filled join tables that SQLite copies record by record, together with their index.
    ///
    /// For that the source must have the same columns, primary key and index; sorting the links twice takes twice as long.
    func joinTablesCopiedWhole(
        to destination: StoreLayout, on connection: Connection, schema: String
    ) throws(DatabaseError) -> Set<String> {
        var tables: Set<String> = []
        for operation in operations {
            guard case .joinTable(let table, let origin?) = operation.work, destination.indexes.contains(table.index)
            else { continue }
            let columns = try connection.rows(
                "SELECT name, pk FROM pragma_table_xinfo(?, ?) ORDER BY cid", [.text(origin.name), .text(schema)])
            let keys = [1, 2] + [Int64](repeating: 0, count: origin.columns.count - 2)
            let isIndexed = try connection.integer(
                """
                SELECT 1 FROM pragma_index_list(?1, ?3) AS i WHERE NOT i."unique" AND NOT i.partial
                    AND (SELECT group_concat(name || ' ' || "desc" || ' ' || coll) FROM (
                        SELECT * FROM pragma_index_xinfo(i.name, ?3) WHERE key ORDER BY seqno)) = ?2
                """,
                [
                    .text(origin.name), .text("\(origin.secondColumn) 0 BINARY,\(origin.firstColumn) 0 BINARY"),
                    .text(schema),
                ])
            if isIndexed != nil, columns.map(\.[0].text) == origin.columns, columns.map(\.[1].integer) == keys {
                tables.insert(table.name)
            }
        }
        return tables
    }
}
