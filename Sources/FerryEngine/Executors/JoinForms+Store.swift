internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension JoinForms {
    /// Reads from the source which of a step's join tables can be copied as whole records.
    init(
        of program: StepProgram, _ destination: StoreLayout, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        self.init()
        for fill in program.fills.joinTables {
            guard let origin = fill.origin, try Self.isAsNew(origin, on: connection, schema: schema) else { continue }
            copiedWhole.insert(fill.table.name)
            if destination.indexes.contains(fill.table.index),
                try Self.isIndexed(origin, on: connection, schema: schema)
            {
                copiedWithIndex.insert(fill.table.name)
            }
        }
    }

    /// Whether the source's table has exactly the columns of a join table, in the same order, and their primary key.
    private static func isAsNew(
        _ origin: JoinTable, on connection: Connection, schema: String
    ) throws(DatabaseError) -> Bool {
        let columns = try connection.rows(
            "SELECT name, pk FROM pragma_table_xinfo(?, ?) ORDER BY cid", [.text(origin.name), .text(schema)])
        let keys = [1, 2] + [Int64](repeating: 0, count: origin.columns.count - 2)
        return columns.map(\.[0].text) == origin.columns && columns.map(\.[1].integer) == keys
    }

    private static func isIndexed(
        _ origin: JoinTable, on connection: Connection, schema: String
    ) throws(DatabaseError) -> Bool {
        try connection.integer(
            """
            SELECT 1 FROM pragma_index_list(?1, ?3) AS i WHERE NOT i."unique" AND NOT i.partial
                AND (SELECT group_concat(name || ' ' || "desc" || ' ' || coll) FROM (
                    SELECT * FROM pragma_index_xinfo(i.name, ?3) WHERE key ORDER BY seqno)) = ?2
            """,
            [
                .text(origin.name), .text("\(origin.secondColumn) 0 BINARY,\(origin.firstColumn) 0 BINARY"),
                .text(schema),
            ]) != nil
    }
}
