internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Every index has an entry for each row of its table, with the row's values, in the right place, and no other.
///
/// A table is read once for all of its indexes, and each index once, in its order; nothing is looked up row by row. Quick
/// verification only counts the entries.
struct IndexesCheck: Check {
    static let name = "indexes"
    static let isQuick = true
    static let scope = CheckScope.any

    /// What a table's rows make of its indexes, range by range, and each index by itself.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let key = context.progress.hashKey()
        return try tables(in: context).flatMap { table in
            let indexes = try TableIndexes(of: table, in: context)
            var parts: [CheckPart] = []
            for index in indexes.counted {
                parts.append(
                    CheckPart(name: Self.name(ofCounted: index), subject: index) { context, outcome in
                        // The sum, not the count: SQLite may answer a count from whichever index it likes.
                        outcome.counted = try context.connection.integer(
                            "SELECT sum(1) FROM destination.\(Connection.quoted(table)) INDEXED BY \(Connection.quoted(index))"
                        )
                    })
            }
            if !indexes.counted.isEmpty, !Self.isTallied(table, in: context) {
                parts.append(
                    CheckPart(name: Self.name(ofRows: table), subject: table) { context, outcome in
                        outcome.counted = try context.connection.integer(
                            "SELECT count(*) FROM destination.\(Connection.quoted(table)) NOT INDEXED")
                    })
            }
            if indexes.compared.isEmpty { return parts }
            let rows = IndexedRows(indexes)
            if try TableTally.parts(forIndexesOf: table, in: context) == nil {
                parts += try ranges(of: indexes, in: context).map { name, condition in
                    CheckPart(name: name, subject: table) { context, outcome in
                        outcome.sums = try rows.sums(in: table, where: condition, key: key, context).sums
                    }
                }
            }
            return parts
                + indexes.compared.enumerated().map { place, index in
                    CheckPart(name: Self.name(of: index), subject: index.name) { context, outcome in
                        (outcome.sums, outcome.misplaced) = try read(index, rows.columns[place], key: key, in: context)
                    }
                }
        }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let outcomes = context.progress.state.outcomes
        let tallies = try TableTally.all(outcomes, in: context).values
        for table in try tables(in: context) {
            let indexes = try TableIndexes(of: table, in: context)
            if !indexes.counted.isEmpty {
                let tallied = tallies.first { $0.table == table }?.rows
                let rows = tallied ?? outcomes[Self.name(ofRows: table)]?.counted ?? 0
                for index in indexes.counted {
                    let entries = outcomes[Self.name(ofCounted: index)]?.counted ?? 0
                    report(index, of: table, count: abs(rows - entries), in: context)
                }
            }
            let rows = IndexedRows(indexes)
            var expected = [EntrySum](repeating: EntrySum(), count: rows.count)
            let names =
                try TableTally.parts(forIndexesOf: table, in: context)
                ?? (indexes.compared.isEmpty ? [] : ranges(of: indexes, in: context).map(\.name))
            for name in names {
                for (place, sum) in (outcomes[name]?.sums ?? []).enumerated() { expected[place].add(sum) }
            }
            for (place, index) in indexes.compared.enumerated() {
                let expected = expected[rows.sets[place]]
                let entries = outcomes[Self.name(of: index)]
                let found = entries?.sums?.first ?? EntrySum()
                let missing = abs(expected.count - found.count)
                report(
                    index.name, of: table,
                    count: (entries?.misplaced ?? 0) + (missing > 0 ? missing : found == expected ? 0 : 1), in: context)
            }
        }
    }

    private static func name(of index: StoredIndex) -> String { "entries of \(index.name)" }
    private static func name(ofCounted index: String) -> String { "count of \(index)" }
    private static func name(ofRows table: String) -> String { "rows of \(table)" }

    /// Whether its rows are counted for other checks, too.
    private static func isTallied(_ table: String, in context: VerificationContext) -> Bool {
        context.destination.tables.values.contains { $0.name == table }
    }

    private func tables(in context: VerificationContext) throws -> [String] {
        // A run's own tables, which only it has, go before it ends.
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND (tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                OR tbl_name IN (SELECT name FROM source.sqlite_master)) ORDER BY tbl_name
            """)
        return tables.compactMap { $0[0].text }
    }

    private func report(_ index: String, of table: String, count: Int64, in context: VerificationContext) {
        let root = context.destination.tables.values.first { $0.name == table }?.root
        context.report(IndexesCheck.self, entity: root, count: count, example: "index \(index)")
    }

    // MARK: Entries

    /// Ranges of a table's rows: the part that looks at each, and the condition that selects it.
    private func ranges(
        of indexes: TableIndexes, in context: VerificationContext
    ) throws -> [(name: String, condition: String?)] {
        let name = "rows for indexes of \(indexes.table)"
        guard let key = indexes.rowID else { return [(name, nil)] }
        let keys = try KeyRange.keys(
            of: "destination.\(Connection.quoted(indexes.table))", numberedBy: key, on: context.connection)
        return KeyRange.parts(from: keys.lowest, through: keys.highest, last: .max).enumerated().map { number, range in
            ("\(name):\(number)", range == .all ? nil : range.condition(on: key))
        }
    }

    /// The sum of an index's entries, and how many are out of their place.
    private func read(
        _ index: StoredIndex, _ columns: [Int], key: KeyedHash.Key, in context: VerificationContext
    ) throws -> ([EntrySum], Int64) {
        let entries = try context.connection.prepare(index.entries)
        let sums = RowSums([.init(columns: columns)], order: index.order, key: key)
        while try sums.add(VerificationContext.rowsBetweenLooks, rowsOf: entries) {
            try context.announce(index.name, done: sums.rows)
        }
        return (sums.results.map(EntrySum.init), sums.misplaced)
    }
}
