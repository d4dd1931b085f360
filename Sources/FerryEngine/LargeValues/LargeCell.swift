internal import FerryStore

/// A column of a row that holds values too large to go through memory, and where its value comes from.
struct LargeCell {
    /// A stored value that may be copied in pieces.
    struct Origin {
        var schema = "source"
        /// The table and the column, not quoted.
        var table: String
        var column: String
        /// SQL of the value, and of the number of its row.
        var value: String
        var key: String
        /// Bytes of the stored value that are left out.
        var skipped = 0
        /// Bytes that stand before it.
        var prefix: [UInt8] = []

        init(table: String, column: String, value: String, key: String) {
            (self.table, self.column, self.value, self.key) = (table, column, value, key)
        }

        /// Nil where the store has no table of the object.
        init?(_ stored: StoredValue, in layout: StoreLayout) {
            guard let table = layout.table(of: stored.object.entity) else { return nil }
            self.init(
                table: table.name, column: stored.column, value: stored.sql, key: "\(stored.object.alias).Z_PK")
            switch stored.mark {
            case .asStored: break
            case .added: prefix = [1]
            case .removed: skipped = 1
            }
        }
    }

    /// The destination's column, as it is written in SQL.
    var name: String
    /// The same, not quoted.
    var rawName: String
    /// SQL of the value.
    var sql: String
    var origin: Origin?

    /// What a statement selects for the cell: the value where it goes through memory, else its size and the number of
    /// the row that has it.
    ///
    /// `typeof` and `length` of a BLOB do not read it.
    var selection: [String] {
        guard let origin else { return [sql, "NULL", "NULL"] }
        // The name of a file stands in fewer bytes than this; of contents the first byte tells that they are there.
        let isStreamed =
            origin.skipped > 0
            ? "typeof(\(origin.value)) = 'blob' AND length(\(origin.value)) > \(Self.longestName)"
            : "typeof(\(origin.value)) = 'blob'"
        return [
            "CASE WHEN \(isStreamed) THEN NULL ELSE \(sql) END",
            "CASE WHEN \(isStreamed) THEN length(\(origin.value)) END", origin.key,
        ]
    }

    private static let longestName = 64
}
