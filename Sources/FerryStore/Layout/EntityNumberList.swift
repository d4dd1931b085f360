extension Sequence<Int64> {
    /// Entity numbers as they stand between the parentheses of `Z_ENT IN (…)`, in their order.
    package var sqlList: String { map(String.init).joined(separator: ", ") }

    /// The condition that a row is of one of the entities with these numbers.
    ///
    /// - Parameter prefix: What stands before the column: an alias with its dot, or a plus sign that keeps SQLite from the
    ///   index of entity numbers, so that rows come in the order of their keys.
    /// - Returns: The condition.
    package func rowCondition(_ prefix: String = "") -> String { "\(prefix)Z_ENT IN (\(sqlList))" }
}

extension Sequence<String?> {
    /// The assignments that empty columns, as far as there are such: `ZOWNER = NULL, Z2_OWNER = NULL`.
    package var emptied: String { compactMap { $0 }.map { "\($0) = NULL" }.joined(separator: ", ") }
}
