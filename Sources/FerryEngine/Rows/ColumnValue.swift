/// The value of a destination column in a statement, with what the statement's author knows of it.
struct ColumnValue {
    var sql: String
    /// The stored value that it passes on, which may be of any size; nil where it is computed or a constant.
    var stored: StoredValue?

    /// A value that is computed.
    init(_ sql: String) { self.sql = sql }

    /// A value that is passed on as it is.
    init(_ stored: StoredValue) { (sql, self.stored) = (stored.sql, stored) }
}

/// A value of the source that is passed on, so that it can be copied in pieces.
struct StoredValue {
    /// The byte before the contents of a value that may be kept in a file.
    enum StorageMark { case asStored, added, removed }

    var object: SourceScope.Object
    /// Not quoted.
    var column: String
    var mark = StorageMark.asStored

    /// The value as it is stored.
    var sql: String { "\(object.alias).\(column)" }
}
