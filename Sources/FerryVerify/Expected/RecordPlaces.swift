internal import FerrySQLite

/// The places of columns in the records of a table of the source and of one of the destination.
struct RecordPlaces {
    let source: [TableColumns.Column]
    let destination: [TableColumns.Column]

    func isSame(_ old: String, as new: String) -> Bool {
        guard let place = source.firstIndex(where: { $0.name == old }), place < destination.count else { return false }
        return destination[place].name == new && destination[place].type == source[place].type
    }

    /// Whether the records of old rows end before a column.
    func isNew(_ column: String) -> Bool {
        destination.firstIndex { $0.name == column }.map { $0 >= source.count } ?? false
    }

    /// The source's column in the place of one of the destination.
    func source(of column: String) -> String? {
        destination.firstIndex { $0.name == column }.flatMap { $0 < source.count ? source[$0].name : nil }
    }
}

/// The columns of a store's tables, in the order of the record.
struct TableColumns {
    struct Column {
        var name: String
        var type: String
    }

    private let schema: String
    private let context: VerificationContext

    init(schema: String, _ context: VerificationContext) { (self.schema, self.context) = (schema, context) }

    func of(_ table: String) throws -> [Column] {
        try context.connection.rows(
            "SELECT name, upper(type) FROM pragma_table_xinfo(?1, ?2) ORDER BY cid", [.text(table), .text(schema)]
        ).map { Column(name: $0[0].text ?? "", type: $0[1].text ?? "") }
    }
}
