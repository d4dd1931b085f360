internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every index has an entry for each row of its table, with the row's values, in the right place, and no other.
///
/// Each table is read once for all its indexes, each index once in its order; quick verification counts entries.
struct IndexesCheck: Check {
    static let name = "indexes"

    /// Sums the rows of each table, range by range, for its indexes, and the entries of each index.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let key = context.progress.state.hashKey
        return try Self.tables(in: context).flatMap { table, indexes in
            var parts: [CheckPart] = []
            for index in indexes.counted {
                parts.append(
                    CheckPart(name: Self.name(ofCounted: index), subject: index) { context, outcome in
                        // Not count(*), which SQLite may answer from an index of its choice.
                        outcome.counted = try context.connection.integer(
                            "SELECT sum(1) FROM destination.\(Connection.quoted(table)) INDEXED BY \(Connection.quoted(index))"
                        )
                    })
            }
            // TableTally counts the rows of entity tables.
            if !indexes.counted.isEmpty, context.root(ofTable: table) == nil {
                parts.append(
                    CheckPart(name: Self.name(ofRows: table), subject: table) { context, outcome in
                        outcome.counted = try context.connection.integer(
                            "SELECT count(*) FROM destination.\(Connection.quoted(table)) NOT INDEXED")
                    })
            }
            if indexes.compared.isEmpty { return parts }
            let rows = indexes.rows
            if try TableTally.parts(forIndexesOf: table, in: context) == nil {
                parts += try indexes.ranges(in: context).map { name, condition in
                    CheckPart(name: name, subject: table) { context, outcome in
                        outcome.sums = try rows.sums(in: table, where: condition, key: key, context).sums
                    }
                }
            }
            for (place, index) in indexes.compared.enumerated() {
                parts.append(
                    CheckPart(name: index.partName, subject: index.name) { context, outcome in
                        let sums = RowSums([.init(columns: rows.columns[place])], order: index.order, key: key)
                        try sums.add(
                            index.selected, index.entries, on: context.connection,
                            lookingEvery: VerificationContext.rowsPerAnnouncement
                        ) {
                            try context.announce(index.name, done: sums.rows)
                        }
                        (outcome.sums, outcome.misplaced) = (sums.found.sums, sums.misplaced)
                    })
            }
            return parts
        }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let outcomes = context.progress.state.outcomes
        let tallies = try TableTally.all(in: context)
        for (table, indexes) in try Self.tables(in: context) {
            if !indexes.counted.isEmpty {
                let counted = outcomes[Self.name(ofRows: table)]?.counted
                let rows = counted ?? context.root(ofTable: table).flatMap { tallies[$0]?.rows } ?? 0
                for index in indexes.counted {
                    let entries = outcomes[Self.name(ofCounted: index)]?.counted ?? 0
                    report(index, of: table, count: abs(rows - entries), in: context)
                }
            }
            for (place, index) in indexes.compared.enumerated() {
                let expected = try indexes.expectedEntries(of: place, in: context)
                let outcome = outcomes[index.partName]
                let found = outcome?.sums?.first ?? EntrySum()
                let missing = abs(expected.count - found.count)
                let wrong = missing > 0 ? missing : found == expected ? 0 : 1
                report(index.name, of: table, count: (outcome?.misplaced ?? 0) + wrong, in: context)
            }
        }
    }

    private static func tables(in context: VerificationContext) throws -> [(key: String, value: TableIndexes)] {
        try context.indexedTables.get().inOrder { codeUnitOrder($0.key, $1.key) }
    }

    private static func name(ofCounted index: String) -> String { "count of \(index)" }
    private static func name(ofRows table: String) -> String { "rows of \(table)" }

    private func report(_ index: String, of table: String, count: Int64, in context: VerificationContext) {
        context.report(
            IndexesCheck.self, entity: context.root(ofTable: table), count: count, example: "index \(index)")
    }
}
