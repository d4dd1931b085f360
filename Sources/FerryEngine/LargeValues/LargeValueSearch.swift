internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// Finds out which row it was whose values were too large; no value is read for that.
struct LargeValueSearch {
    let context: StepContext
    let mapping: ResolvedEntityMapping

    /// The first source object of a range with a value of more bytes; nil when the source has none.
    func firstKey(in range: KeyRanges.Range, above bytes: Int) throws -> Int64? {
        guard let table = context.source.table(of: mapping.source) else { return nil }
        let columns = table.columns.filter { ["BLOB", "VARCHAR"].contains($0.type.uppercased()) }.map(\.name)
        let types = columns.map { "typeof(\($0)) IN ('text', 'blob')" }
        let rows = try context.connection.prepare(
            """
            SELECT \((["Z_PK"] + types).joined(separator: ", ")) FROM source.\(table.name)
            WHERE Z_PK > ?1 AND Z_PK <= ?2 AND Z_ENT = ?3 ORDER BY Z_PK
            """)
        try rows.bind([
            .integer(range.low), .integer(range.high), .integer(try context.sourceNumber(of: mapping)),
        ])
        while try rows.step() {
            let key = rows.integer(0)
            for (index, column) in columns.enumerated() where rows.integer(index + 1) != 0 {
                let value = try BlobHandle(
                    column, of: table.name, row: key, schema: "source", on: context.connection)
                if value.count > bytes { return key }
            }
        }
        return nil
    }
}
