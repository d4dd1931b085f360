internal import FerryBase
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Fills a join table from the links that were gathered in scratch: sorted once, each pair once.
struct JoinRows {
    let table: JoinTable
    /// What fills it.
    let filling: [RelationshipAssignment]
    /// Whether a policy may have added links without a position.
    let hasPolicies: Bool

    /// One statement, in the order of the table's primary key; positions that were not copied follow from the order in
    /// which the links came.
    func statement() -> RowStatements.SQL {
        var parameters = Parameters()
        var columns = [(name: table.firstColumn, value: "first"), (name: table.secondColumn, value: "second")]
        if let column = table.firstOrderColumn {
            columns.append((column, position("firstOrder", of: table.firstColumn, among: "second", &parameters)))
        }
        if let column = table.secondOrderColumn {
            columns.append((column, position("secondOrder", of: table.secondColumn, among: "first", &parameters)))
        }
        return RowStatements.SQL(
            text: """
                INSERT INTO main.\(table.name) (\(columns.map(\.name).joined(separator: ", ")))
                SELECT \(columns.map(\.value).joined(separator: ", ")) FROM (\(rows))
                ORDER BY first, second
                """, parameters: parameters)
    }

    /// Each pair as it came first.
    private var rows: String {
        let pairs = """
            SELECT first, second, firstOrder, secondOrder, min(rowid) AS came
            FROM \(ScratchDatabase.links(of: table)) GROUP BY first, second
            """
        guard hasPolicies else { return pairs }
        return """
            SELECT *, \(OrderKeys.isShared("firstOrder", among: "second")) AS firstOrderShared,
                \(OrderKeys.isShared("secondOrder", among: "first")) AS secondOrderShared
            FROM (\(pairs))
            """
    }

    private func position(
        _ stored: String, of column: String, among group: String, _ parameters: inout Parameters
    ) -> String {
        if hasPolicies {
            return OrderKeys.settled(
                stored, shared: "\(stored)Shared", among: group, ordered: "came", parameters: &parameters)
        }
        let isCopied = filling.allSatisfy { assignment in
            guard case .join(_, let own, _, _, _) = assignment.storage else { return false }
            return assignment.contributions.allSatisfy { own == column ? $0.copied.own : $0.copied.related }
        }
        if isCopied { return stored }
        return OrderKeys.sql(
            place: "row_number() OVER (PARTITION BY \(group) ORDER BY came)", parameters: &parameters)
    }
}

/// Fills a join table from the one of the source that holds the same links.
///
/// Where both tables have the same columns, SQLite takes each row and each entry of their keys over without looking into
/// it, and all of them come in order. Else the rows are read in the order of the new primary key.
struct LinkCopy {
    let context: StepContext
    let table: JoinTable
    /// The source's table, each column in the place of the one that it fills.
    let origin: JoinTable

    /// To be run inside one unit.
    func run() throws {
        let connection = context.connection
        guard try hasSameForm() else { return try connection.execute(sortingRows) }
        // Filled together with the table, the index needs no sorting.
        if try hasSameIndex() { try IndexesPhase(context: context).makeEarly(table.index) }
        try connection.execute(rows)
    }

    /// The form in which SQLite copies whole rows: all columns, in no order, into an empty table.
    var rows: String { "INSERT OR IGNORE INTO main.\(table.name) SELECT * FROM source.\(origin.name)" }

    private var sortingRows: String {
        """
        INSERT OR IGNORE INTO main.\(table.name) (\(table.columns.joined(separator: ", ")))
        SELECT \(origin.columns.joined(separator: ", ")) FROM source.\(origin.name)
        ORDER BY \(origin.firstColumn), \(origin.secondColumn)
        """
    }

    /// Whether the source's table has the columns of the new one, no more and in the same order, and their primary key.
    private func hasSameForm() throws(DatabaseError) -> Bool {
        let columns = try context.connection.rows(
            "SELECT name, pk FROM pragma_table_xinfo(?, 'source') ORDER BY cid", [.text(origin.name)])
        let keys = [1, 2] + [Int64](repeating: 0, count: origin.columns.count - 2)
        return columns.map(\.[0].text) == origin.columns && columns.map(\.[1].integer) == keys
    }

    /// Whether the source has the index of the new table.
    private func hasSameIndex() throws(DatabaseError) -> Bool {
        guard context.destination.indexes.contains(table.index) else { return false }
        return try context.connection.integer(
            """
            SELECT 1 FROM pragma_index_list(?1, 'source') AS i WHERE NOT i."unique" AND NOT i.partial
                AND (SELECT group_concat(name || ' ' || "desc" || ' ' || coll) FROM (
                    SELECT * FROM pragma_index_xinfo(i.name, 'source') WHERE key ORDER BY seqno)) = ?2
            """,
            [.text(origin.name), .text("\(origin.secondColumn) 0 BINARY,\(origin.firstColumn) 0 BINARY")]) != nil
    }
}
