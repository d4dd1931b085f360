import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import Foundation
import RandomModels
import TestSupport

extension RandomPair {
    /// The differences that a verification of the two stores finds; nil for a chain, which is verified step by step.
    func differences() throws -> [String]? {
        guard models.count == 2 else { return nil }
        let summary = try Verifier(
            store: URL(fileURLWithPath: destination), models: paths.map { .url(URL(fileURLWithPath: $0)) },
            mappings: mappings.map { URL(fileURLWithPath: $0) }
        ).verifyMigration(from: URL(fileURLWithPath: source))
        return summary.differences.map {
            "\($0.check) of \($0.entity ?? "?") \($0.property ?? ""): \($0.example ?? "?")"
        }
    }

    /// Changes one cell, key, position, join row or entity number of a store, chosen at random.
    ///
    /// - Returns: What was changed; nil if the store has nothing to change.
    static func changeAny(of store: String, _ random: inout SplitMix) throws -> String? {
        let connection = try Connection(path: store, mode: .readWrite)
        connection.allowSchemaWrites()
        let tables = try connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z*' AND name NOT IN "
                + "('Z_PRIMARYKEY', 'Z_METADATA', 'Z_MODELCACHE') ORDER BY name"
        ).compactMap { $0[0].text }.filter { try connection.integer("SELECT EXISTS (SELECT 1 FROM \"\($0)\")") == 1 }
        guard !tables.isEmpty else { return nil }
        for _ in 0..<20 {
            let table = tables[Int.random(in: 0..<tables.count, using: &random)]
            let columns = try connection.rows("SELECT name, type FROM pragma_table_info(?)", [.text(table)])
            let rows = try connection.rows("SELECT rowid FROM \"\(table)\" ORDER BY rowid").compactMap { $0[0].integer }
            guard let row = rows.randomElement(using: &random), let column = columns.randomElement(using: &random),
                let name = column[0].text
            else { continue }
            let isJoin = !columns.contains { $0[0].text == "Z_PK" }
            let change =
                isJoin && Int.random(in: 0..<3, using: &random) == 0
                ? "DELETE FROM \"\(table)\" WHERE rowid = \(row)"
                : "UPDATE \"\(table)\" SET \"\(name)\" = \(other("\"\(name)\"", column[1].text ?? "")) WHERE rowid = \(row)"
            do {
                try connection.execute(change)
            } catch {
                // Another row has the key, or a clause forbids the value.
                continue
            }
            if try connection.integer("SELECT changes()") == 1 { return change }
        }
        return nil
    }

    /// SQL of another value than that of a column; a position that is one higher can say the same.
    private static func other(_ column: String, _ type: String) -> String {
        if column.hasPrefix("\"Z_FOK_") { return "CASE WHEN \(column) IS NULL THEN 1 END" }
        let new =
            switch type {
            case "INTEGER": "1"
            case "VARCHAR": "'x'"
            case "BLOB": "x'78'"
            default: "1.5"
            }
        return """
            CASE typeof(\(column)) WHEN 'null' THEN \(new) WHEN 'text' THEN \(column) || 'x'
                WHEN 'blob' THEN CAST(\(column) || x'78' AS BLOB) ELSE \(column) + 1 END
            """
    }
}
