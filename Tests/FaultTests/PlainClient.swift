internal import CSQLite
internal import Testing

/// The content of a store as any SQLite client reads it.
struct PlainClient: Equatable {
    /// The result of `integrity_check`.
    var integrity: String
    /// Every table with its number of rows.
    var rows: [String: Int64] = [:]

    /// Opens the store as an app does, reading and writing, so that a journal is rolled back and a `-wal` is read.
    init(_ path: String) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
        defer { sqlite3_close(opened) }
        let database = try #require(code == SQLITE_OK ? opened : nil, "SQLite cannot open \(path): \(code)")
        integrity = try Self.answers("PRAGMA integrity_check", database).joined(separator: "; ")
        for table in try Self.answers("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", database) {
            rows[table] = try Self.answers("SELECT count(*) FROM \"\(table)\"", database).first.flatMap { Int64($0) }
        }
    }

    /// The first column of all rows.
    private static func answers(_ sql: String, _ database: OpaquePointer) throws -> [String] {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v2(database, sql, -1, &prepared, nil)
        defer { sqlite3_finalize(prepared) }
        try #require(code == SQLITE_OK, "\(sql): \(String(cString: sqlite3_errmsg(database)))")
        var answers: [String] = []
        while true {
            let code = sqlite3_step(prepared)
            if code == SQLITE_DONE { return answers }
            try #require(code == SQLITE_ROW, "\(sql): \(String(cString: sqlite3_errmsg(database)))")
            answers.append(sqlite3_column_text(prepared, 0).map { String(cString: $0) } ?? "")
        }
    }
}
