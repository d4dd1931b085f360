/// Positions in ordered relationships, as Core Data numbers them: 2048, then 1024 more for each.
package enum OrderPosition {
    package static let step: Int64 = 1024

    /// SQL of a position.
    ///
    /// - Parameters:
    ///   - place: SQL of the object's place in its group, from 1.
    ///   - step: SQL of ``step``.
    /// - Returns: The SQL.
    package static func sql(place: String, step: String = "\(step)") -> String { "\(step) + \(step) * \(place)" }

    /// SQL that gives the rows of groups their positions.
    ///
    /// - Parameters:
    ///   - column: The column of the positions.
    ///   - table: The table's name.
    ///   - schema: The database that it is in, with the dot, where there are several.
    ///   - key: The name under which a row is reached.
    ///   - group: The column of the object that the rows belong to.
    ///   - order: The columns that order the rows of a group.
    ///   - isForGaps: Whether groups in which every row has a position keep theirs.
    ///   - step: SQL of ``step``.
    /// - Returns: The SQL.
    package static func numbering(
        _ column: String, of table: String, in schema: String = "", key: String, group: String, by order: String,
        isForGaps: Bool = false, step: String = "\(step)"
    ) -> String {
        let gap = isForGaps ? ", max(\(column) IS NULL) OVER (PARTITION BY \(group)) AS hasGap" : ""
        return
            "UPDATE \(schema)\(table) SET \(column) = \(sql(place: "p.place", step: step)) FROM (SELECT \(key) AS k, "
            + "row_number() OVER (PARTITION BY \(group) ORDER BY \(order)) AS place\(gap) FROM \(schema)\(table) "
            + "WHERE \(group) IS NOT NULL) AS p WHERE \(table).\(key) = p.k\(isForGaps ? " AND p.hasGap" : "")"
    }

    /// The position behind the last one; nil where that is at the end of all positions.
    package static func next(after last: Int64?) -> Int64? {
        let (position, isTooHigh) = (last ?? step).addingReportingOverflow(step)
        return isTooHigh ? nil : position
    }
}
