internal import FerryBase
package import FerrySQLite
internal import FerryStore

/// The content of a store as text, independent of the order of its columns and without dead columns.
package enum StoreRows {
    package static func text(atPath path: String) throws -> String {
        try text(Connection(path: path, mode: .readWrite))
    }

    package static func text(_ connection: Connection, leavingOut dead: Set<String> = []) throws -> String {
        var lines: [String] = []
        let names = try connection.rows(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%' ORDER BY name
            """)
        for table in names.compactMap(\.[0].text) where table != "Z_METADATA" && table != "Z_MODELCACHE" {
            let columns = try connection.rows(
                "SELECT name, type FROM pragma_table_info(?) ORDER BY name", [.text(table)]
            )
            .filter { !dead.contains($0[0].text ?? "") }
            lines.append("table \(table): \(columns.map { "\($0[0].text ?? "") \($0[1].text ?? "")" })")
            let keys = try connection.rows(
                "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.text(table)])
            let selected = columns.compactMap(\.[0].text)
            let order = keys.isEmpty ? selected : keys.compactMap(\.[0].text)
            for row in try connection.rows(
                """
                SELECT \(selected.map { "quote(\($0))" }.joined(separator: ", "))
                FROM \(table) ORDER BY \(order.joined(separator: ", "))
                """)
            {
                lines.append("  " + row.compactMap(\.text).joined(separator: " "))
            }
        }
        let others = try connection.rows(
            "SELECT type, name, tbl_name FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY type, name"
        )
        lines += others.map { "\($0)" }
        let metadata = try StoreMetadata.read(from: connection)
        lines.append("\(metadata.uuid) \(metadata.hashes.mapValues(\.hexadecimal).sorted { $0.key < $1.key })")
        return lines.joined(separator: "\n")
    }
}
