internal import FerrySQLite
internal import FerryStore

/// The tables with indexes, the ranges in which their rows are read, and the sums of the entries that these require.
extension TableIndexes {
    /// By table, without tables that no statement could write; none of a file between two steps.
    static func all(in context: VerificationContext) throws -> [String: TableIndexes] {
        if context.verification.fileCheck == .none { return [:] }
        // A run drops its own tables before it ends.
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND (tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                OR tbl_name IN (SELECT name FROM source.sqlite_master)) ORDER BY tbl_name
            """)
        var all: [String: TableIndexes] = [:]
        for name in tables.compactMap({ $0[0].text }) where !KeptTables.hold(name, in: context) {
            all[name] = try TableIndexes(of: name, in: context)
        }
        return all
    }

    /// The sum of the entries that the table's rows require in a compared index, by its place.
    func expectedEntries(of place: Int, in context: VerificationContext) throws -> EntrySum {
        var sum = EntrySum()
        let names = try TableTally.parts(forIndexesOf: table, in: context)
        for name in try names ?? ranges(in: context).map(\.name) {
            let (sums, set) = (context.progress.state.outcomes[name]?.sums ?? [], rows.sets[place])
            if set < sums.count { sum.add(sums[set]) }
        }
        return sum
    }

    /// Ranges of the table's rows: the name of each part, and its SQL condition.
    func ranges(in context: VerificationContext) throws -> [(name: String, condition: String?)] {
        let name = "rows for indexes of \(table)"
        guard let rowID else { return [(name, nil)] }
        return try KeyRange.parts(
            name, of: "destination.\(Connection.quoted(table))", numberedBy: rowID, on: context.connection
        ).map { ($0.name, $0.range == .all ? nil : $0.range.condition(on: rowID)) }
    }
}
