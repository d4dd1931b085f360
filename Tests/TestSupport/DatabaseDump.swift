internal import FerryBase
package import FerrySQLite

/// The content that the *same destination* rule compares, as text.
///
/// The schema, and for every table `typeof` and bytes of every value in key order. Two databases with equal dumps
/// differ at most in their file bytes.
package struct DatabaseDump {
    /// Tables that the dump leaves out, with their indexes.
    package var leavingOut: Set<String>
    /// Whether columns count by their names: a composed step need not leave the column order of its parts, nor the
    /// quotes that a renaming leaves in the text of the schema.
    package var sortsColumns: Bool

    package init(leavingOut: Set<String> = [], sortsColumns: Bool = false) {
        (self.leavingOut, self.sortsColumns) = (leavingOut, sortsColumns)
    }

    /// Returns the whole dump; for small databases.
    package static func text(
        _ path: String, leavingOut: Set<String> = [], sortsColumns: Bool = false
    ) throws -> String {
        var text = ""
        try DatabaseDump(leavingOut: leavingOut, sortsColumns: sortsColumns).write(path) { text += $0 + "\n" }
        return text
    }

    /// Returns the SHA-256 of the dump, in hexadecimal; in flat memory.
    package static func digest(
        _ path: String, leavingOut: Set<String> = [], sortsColumns: Bool = false
    ) throws -> String {
        var hash = SHA256()
        try DatabaseDump(leavingOut: leavingOut, sortsColumns: sortsColumns).write(path) {
            hash.update($0)
            hash.update([10])
        }
        return hash.finalize().hexadecimal
    }

    /// Opens a database and passes its dump line by line to a closure.
    package func write(_ path: String, to sink: (String) -> Void) throws {
        // Opens the database as an ordinary client does, which rolls back a crashed transaction; writes nothing more.
        let connection = try Connection(path: path, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("PRAGMA query_only = 1")
        try write(connection, to: sink)
    }

    package func write(_ connection: Connection, to sink: (String) -> Void) throws {
        let schema = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        for row in schema where !leavingOut.contains(row[2].text ?? "") {
            var sql = row[3].text ?? "(automatic)"
            if sortsColumns {
                sql = sql.replacing("\"", with: "")
                if row[0].text == "table" { sql = "\(try columns(of: row[1].text ?? "", on: connection))" }
            }
            sink("\(row[0].text ?? "") \(row[1].text ?? ""): \(sql)")
        }
        // Shadow tables hold the content of their virtual table, in a form that depends on the order of inserts.
        let tables = try connection.rows(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') "
                + "AND name NOT IN ('sqlite_schema', 'sqlite_master') ORDER BY name")
        for name in tables.compactMap(\.[0].text) where !leavingOut.contains(name) {
            try write(table: name, of: connection, to: sink)
        }
    }

    /// Names, types and clauses of a table's columns, by name.
    private func columns(of table: String, on connection: Connection) throws -> [[Value]] {
        try connection.rows(
            "SELECT name, upper(type), \"notnull\", dflt_value, pk FROM pragma_table_info(?) ORDER BY name",
            [.text(table)])
    }

    private func write(table: String, of connection: Connection, to sink: (String) -> Void) throws {
        let columns = try connection.rows(
            "SELECT name, pk FROM pragma_table_info(?) ORDER BY \(sortsColumns ? "name" : "cid")", [.text(table)])
        let names = columns.compactMap(\.[0].text)
        let key = columns.filter { ($0[1].integer ?? 0) > 0 }
            .sorted { ($0[1].integer ?? 0) < ($1[1].integer ?? 0) }
            .compactMap(\.[0].text)
        let order = (key.isEmpty ? names : key).map(quoted).joined(separator: ", ")
        let rows = try connection.prepare(
            "SELECT \(names.map(quoted).joined(separator: ", ")) FROM \(quoted(table)) ORDER BY \(order)")
        sink("table \(table): \(names.joined(separator: ", "))")
        while try rows.step() {
            sink(names.indices.map { cell(rows, $0) }.joined(separator: " | "))
        }
    }

    private func cell(_ row: Statement, _ column: Int) -> String {
        switch row.storageClass(column) {
        case .null: "null"
        case .integer: "integer \(row.integer(column))"
        // The bits of a number: −0.0 and 0.0 are different values here.
        case .real: "real \(row.real(column)) \(String(row.real(column).bitPattern, radix: 16))"
        case .text: "text " + row.withBytes(column) { escaped($0) }
        case .blob: "blob " + row.withBytes(column) { hexadecimal($0) }
        }
    }

    /// Returns printable ASCII unchanged and all other bytes escaped, so that a line of a dump is a line of text.
    private func escaped(_ bytes: UnsafeRawBufferPointer) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\\"), 0..<32, 127...:
                text.append(contentsOf: "\\x\(DatabaseDump.digits[Int(byte)])".utf8)
            default: text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        var text = ""
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes { text += DatabaseDump.digits[Int(byte)] }
        return text
    }

    private static let digits: [String] = (0..<256).map { [UInt8($0)].hexadecimal }

    private func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
