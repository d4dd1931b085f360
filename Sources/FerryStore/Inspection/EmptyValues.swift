package import FerrySQLite

/// Counts the rows of exactly one entity that have no value in a column.
package struct EmptyValues {
    private let table: String
    private let number: Int64
    private let connection: Connection

    /// - Parameters:
    ///   - table: The table's name, not quoted.
    ///   - number: The entity's `Z_ENT`.
    ///   - connection: With the store as `main`.
    package init(in table: String, of number: Int64, on connection: Connection) {
        (self.table, self.number, self.connection) = (table, number, connection)
    }

    /// The condition that a column is empty, or any of several.
    package static func condition(_ columns: [String]) -> String {
        columns.map { "\(Connection.quoted($0)) IS NULL" }.joined(separator: " OR ")
    }

    /// SQL of a sum over rows.
    ///
    /// As the condition of a CASE, unlike as a value, a test for NULL does not read what it tests.
    static func sum(where condition: String) -> String { "ifnull(sum(CASE WHEN \(condition) THEN 1 ELSE 0 END), 0)" }

    package func rows(without column: String) throws(DatabaseError) -> Int64 {
        try connection.integer(
            "SELECT count(*) FROM \(Connection.quoted(table)) WHERE Z_ENT = ? AND \(Self.condition([column]))",
            [.integer(number)]) ?? 0
    }

    /// The numbers of rows without a value in each column, counted in one scan.
    ///
    /// - Parameters:
    ///   - columns: The columns.
    ///   - together: Of these the rows are counted in which any is empty.
    /// - Returns: A number for each column, and one more.
    /// - Throws: ``DatabaseError``.
    package func rows(without columns: [String], together: [String]) throws(DatabaseError) -> [Int64] {
        let conditions = columns.map { Self.condition([$0]) } + [together.isEmpty ? "0" : Self.condition(together)]
        let sums = conditions.map { Self.sum(where: $0) }
        let found = try connection.rows(
            "SELECT \(sums.joined(separator: ", ")) FROM \(Connection.quoted(table)) WHERE Z_ENT = ?",
            [.integer(number)])
        return (found.first ?? []).map { $0.integer ?? 0 }
    }
}
