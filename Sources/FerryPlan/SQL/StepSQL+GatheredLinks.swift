internal import FerryStore

extension StepSQL {
    /// Fills a join table from the links in scratch, sorted once by primary key, each pair once.
    ///
    /// Positions that were not copied follow the insertion order of the links.
    func gatheredLinks(of table: JoinTable) -> BoundSQL {
        var parameters = Parameters()
        var columns = [(name: table.firstColumn, value: "first"), (name: table.secondColumn, value: "second")]
        if let column = table.firstOrderColumn {
            let value = position("firstOrder", in: table, of: table.firstColumn, among: "second", &parameters)
            columns.append((column, value))
        }
        if let column = table.secondOrderColumn {
            let value = position("secondOrder", in: table, of: table.secondColumn, among: "first", &parameters)
            columns.append((column, value))
        }
        return BoundSQL(
            """
            INSERT INTO main.\(table.name) (\(columns.map(\.name).joined(separator: ", ")))
            SELECT \(columns.map(\.value).joined(separator: ", ")) FROM (\(pairs(of: table)))
            ORDER BY first, second
            """, parameters)
    }

    /// Each pair once: its first link.
    private func pairs(of table: JoinTable) -> String {
        let pairs = """
            SELECT first, second, firstOrder, secondOrder, min(rowid) AS came
            FROM \(ScratchTables.links(of: table)) GROUP BY first, second
            """
        guard hasPolicies else { return pairs }
        return """
            SELECT *, \(OrderKeys.isShared("firstOrder", among: "second")) AS firstOrderShared,
                \(OrderKeys.isShared("secondOrder", among: "first")) AS secondOrderShared
            FROM (\(pairs))
            """
    }

    private func position(
        _ stored: String, in table: JoinTable, of column: String, among group: String, _ parameters: inout Parameters
    ) -> String {
        if hasPolicies {
            return OrderKeys.settled(
                stored, shared: "\(stored)Shared", among: group, ordered: "came", parameters: &parameters)
        }
        let filling = program.fills.relationships.filter { $0.joinTable == table.name }
        let isCopied = filling.allSatisfy { assignment in
            guard case .join(_, let own, _, _, _) = assignment.storage else { return false }
            return assignment.contributions.allSatisfy { own == column ? $0.copied.own : $0.copied.related }
        }
        if isCopied { return stored }
        return OrderKeys.sql(
            place: "row_number() OVER (PARTITION BY \(group) ORDER BY came)", parameters: &parameters)
    }
}
