internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The tables with indexes, and the sums of the entries that their rows require.
struct IndexedTables {
    private var tables: [String: TableIndexes] = [:]

    init(in context: VerificationContext) throws {
        for name in try Self.tablesWithIndexes(in: context) { tables[name] = try TableIndexes(of: name, in: context) }
    }

    var names: [String] { tables.keys.inOrder(by: codeUnitOrder) }

    func indexes(of table: String) -> TableIndexes? { tables[table] }

    private static func tablesWithIndexes(in context: VerificationContext) throws -> [String] {
        // A run drops its own tables before it ends.
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND (tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                OR tbl_name IN (SELECT name FROM source.sqlite_master)) ORDER BY tbl_name
            """)
        return tables.compactMap { $0[0].text }.filter { !KeptTables.hold($0, in: context) }
    }

    /// The sum of the entries that the table's rows require.
    func expected(of index: StoredIndex, in context: VerificationContext) throws -> EntrySum {
        var sum = EntrySum()
        guard let table = tables[index.table], let place = table.compared.firstIndex(where: { $0.name == index.name })
        else { return sum }
        let names = try TableTally.parts(forIndexesOf: index.table, in: context)
        for name in try names ?? Self.ranges(of: table, in: context).map(\.name) {
            let (sums, set) = (context.progress.state.outcomes[name]?.sums ?? [], table.rows.sets[place])
            if set < sums.count { sum.add(sums[set]) }
        }
        return sum
    }

    /// Ranges of a table's rows: the name of each part, and its SQL condition.
    static func ranges(
        of indexes: TableIndexes, in context: VerificationContext
    ) throws -> [(name: String, condition: String?)] {
        let name = "rows for indexes of \(indexes.table)"
        guard let key = indexes.rowID else { return [(name, nil)] }
        return try KeyRange.parts(
            name, of: "destination.\(Connection.quoted(indexes.table))", numberedBy: key, on: context.connection
        ).map { ($0.name, $0.range == .all ? nil : $0.range.condition(on: key)) }
    }
}
