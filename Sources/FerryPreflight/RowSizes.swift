internal import FerryBase
internal import FerryModel
package import FerrySQLite
package import FerryStore

/// The average bytes of a table's rows, from a few rows at even distances: reading all would take as long as a migration.
package enum RowSizes {
    private static let samples = 48
    /// Longer texts are not read; of BLOBs SQLite knows the length without reading them.
    private static let longestText = 1 << 20

    /// Returns nil for a table without rows, with very long texts, or whose pages or rows are damaged: preflight reports
    /// the damage.
    package static func average(of table: EntityTable, on connection: Connection) throws -> Double? {
        let name = Connection.quoted(table.name)
        let lengths = table.columns.map { "ifnull(length(\(Connection.quoted($0.name))), 0)" } + ["20"]
        let keys = """
            WITH RECURSIVE places(place) AS (VALUES (0) UNION ALL SELECT place + 1 FROM places WHERE place < \(Self.samples - 1)),
            ends(first, last) AS (VALUES ((SELECT min(Z_PK) FROM \(name)), (SELECT max(Z_PK) FROM \(name))))
            SELECT (SELECT Z_PK FROM \(name) WHERE Z_PK >= first + (last - first) / \(Self.samples) * place ORDER BY Z_PK LIMIT 1)
            FROM places, ends
            """
        do {
            return try connection.with(.length, longestText) {
                let sum = lengths.balanced(by: "+")
                let average = try connection.integer(
                    "SELECT CAST(avg(\(sum)) AS INTEGER) FROM \(name) WHERE Z_PK IN (\(keys))")
                return average.map(Double.init)
            }
        } catch let error as DatabaseError where !error.isInterrupted {
            return nil
        }
    }
}
