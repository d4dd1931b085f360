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
