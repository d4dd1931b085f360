internal import FerrySQLite
internal import FerryStore

/// The text of a table's statement, where what ALTER TABLE leaves of it is not known to the letter: names and types in
/// their order, and the words around them.
struct TableText {
    private let context: VerificationContext
    private let schema: String

    init(in schema: String, of context: VerificationContext) {
        self.schema = schema
        self.context = context
    }

    /// Whether a statement says no more than SQLite itself says of its table, in the words in which Core Data says it;
    /// blanks and quotes aside.
    func isPlain(_ table: String) throws -> Bool {
        let found = try context.connection.value(
            "SELECT sql FROM \(schema).sqlite_master WHERE type = 'table' AND name = ?", [.text(table)])?.text
        let columns = try context.connection.rows(
            "SELECT name, type, pk FROM pragma_table_info(?, ?) ORDER BY cid", [.text(table), .text(schema)])
        let keys = columns.filter { ($0[2].integer ?? 0) > 0 }
            .sorted { ($0[2].integer ?? 0) < ($1[2].integer ?? 0) }.compactMap { $0[0].text }
        var parts = columns.map { column in
            let isKey = keys.count == 1 && column[0].text == keys.first
            return "\(column[0].text ?? "") \(column[1].text ?? "")\(isKey ? " PRIMARY KEY" : "")"
        }
        if keys.count > 1 { parts.append("PRIMARY KEY (\(keys.joined(separator: ", ")))") }
        let expected = "CREATE TABLE \(table) (\(parts.joined(separator: ", ")))"
        return SchemaCheck.withoutQuotes(found) == SchemaCheck.withoutQuotes(expected)
    }

    /// Whether that holds for all of a layout's tables: older frameworks have said more.
    func arePlain(_ layout: StoreLayout) throws -> Bool {
        try (layout.tables.values.map(\.name) + layout.joinTables.map(\.name)).allSatisfy { try isPlain($0) }
    }
}
