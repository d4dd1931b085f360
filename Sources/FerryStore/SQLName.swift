internal import FerrySQLite

/// Names of tables in SQL text.
enum SQLName {
    /// A table of an attached database, safe whatever the names hold.
    static func quoted(_ schema: String, _ table: String) -> String {
        Connection.quoted(schema) + "." + Connection.quoted(table)
    }
}
