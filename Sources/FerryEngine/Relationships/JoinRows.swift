internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Fills a join table from the links that were gathered in scratch: sorted once, each pair once.
struct JoinRows {
    let table: JoinTable
    let assignments: RelationshipAssignments
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
        let filling = assignments.assignments.filter { $0.joinTable == table.name }
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
