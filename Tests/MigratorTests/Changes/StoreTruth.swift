import FerryBase
import FerrySQLite
import FerryStore
import Foundation

/// The content of a store as plain SQLite and `cmp` find it: all rows of all tables, read from the tables themselves,
/// the schema, `integrity_check`, and the external files.
struct StoreTruth: Equatable {
    private var lines: [String] = []
    private var files: [String: Data] = [:]

    /// - Parameters:
    ///   - store: The store; SQLite's refusal to read the store is also a result.
    ///   - files: The store that has the external files.
    init(_ store: String, files: String) {
        do {
            try read(store)
        } catch {
            lines.append("unreadable: \(error)")
        }
        let folder = ExternalData.folder(forStore: files)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            self.files[name] = try? Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
        }
    }

    private mutating func read(_ store: String) throws {
        let connection = try Connection(path: store, mode: .readOnly)
        lines += try connection.rows("PRAGMA integrity_check").map { $0[0].text ?? "" }
        let schema = try connection.rows(
            """
            SELECT quote(type), quote(name), quote(tbl_name), quote(sql) FROM sqlite_master
            WHERE name NOT LIKE 'ferry%' AND tbl_name NOT LIKE 'ferry%' ORDER BY rowid
            """)
        lines += schema.map { $0.map { $0.text ?? "" }.joined(separator: "|") }
        let tables = try connection.rows(
            """
            SELECT name FROM sqlite_master
            WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'ferry%' ORDER BY name
            """)
        for table in tables.compactMap({ $0[0].text }) {
            let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(table)])
                .compactMap { $0[0].text }.map { "\"\($0)\"" }
            let values = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(separator: " || '|' || ")
            let rows = try connection.rows("SELECT rowid || '|' || \(values) FROM \"\(table)\" NOT INDEXED")
            lines += rows.map { "\(table): \($0[0].text ?? "null")" }
        }
    }
}
