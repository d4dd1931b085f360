internal import FerrySQLite

/// The places of columns in the records of a table of the source and of one of the destination.
struct RecordPlaces {
    private let source: [(name: String, type: String)]
    private let destination: [(name: String, type: String)]

    init(_ source: String, as destination: String, in context: VerificationContext) throws {
        func columns(of table: String, _ schema: String) throws -> [(name: String, type: String)] {
            try context.connection.rows(
                "SELECT name, upper(type) FROM pragma_table_xinfo(?1, ?2) ORDER BY cid", [.text(table), .text(schema)]
            ).map { ($0[0].text ?? "", $0[1].text ?? "") }
        }
        self.source = try columns(of: source, "source")
        self.destination = try columns(of: destination, "destination")
    }

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
