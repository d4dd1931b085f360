import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// Compares the schema of a migrated store with that of Core Data's store of the same version.
struct SchemaShare {
    /// Objects that only one store has, or that differ: tables, columns, keys, indexes, triggers, R-Trees, numbers of
    /// entities.
    var differences: [String] = []

    /// - Parameters:
    ///   - own: The migrated store.
    ///   - other: Core Data's store.
    ///   - model: The model of both stores.
    ///   - comparesOrder: Whether the order of columns counts.
    /// - Throws: The error of reading the stores.
    init(_ own: String, _ other: String, _ model: ManagedObjectModel, comparesOrder: Bool) throws {
        let (ours, theirs) = (try Self.objects(of: own, model), try Self.objects(of: other, model))
        for name in Set(ours.keys).union(theirs.keys).sorted() {
            guard let mine = ours[name] else {
                differences.append("only theirs: \(name)")
                continue
            }
            guard let yours = theirs[name] else {
                differences.append("only ours: \(name)")
                continue
            }
            if mine.content != yours.content {
                differences.append("\(name): \(mine.content) instead of \(yours.content)")
            } else if comparesOrder, mine.order != yours.order {
                differences.append("\(name): \(mine.order) instead of the order \(yours.order)")
            }
        }
    }

    private struct Object {
        var content: String
        var order: [String] = []
    }

    /// Returns Core Data's objects for a model, by kind and name, without those of the app or the history.
    private static func objects(of store: String, _ model: ManagedObjectModel) throws -> [String: Object] {
        let connection = try Connection(path: store, mode: .readWrite)
        var objects: [String: Object] = [:]
        let rows = try connection.rows(
            """
            SELECT type, name, tbl_name, sql FROM sqlite_master
            WHERE tbl_name LIKE 'Z%' AND tbl_name NOT IN ('Z_METADATA', 'Z_MODELCACHE', 'Z_PRIMARYKEY')
            """)
        for row in rows {
            let (type, name, table) = (row[0].text ?? "", row[1].text ?? "", row[2].text ?? "")
            guard type == "table" else {
                objects["\(type) \(name)"] = Object(content: "\(table) \(normalized(row[3].text ?? ""))")
                continue
            }
            let columns = try connection.rows(
                "SELECT name, type, \"notnull\", ifnull(dflt_value, ''), pk FROM pragma_table_info(?) ORDER BY cid",
                [.text(name)])
            objects["table \(name)"] = Object(content: "", order: columns.compactMap(\.[0].text))
            for column in columns {
                objects["column \(name).\(column[0].text ?? "")"] = Object(
                    content: "\(column[1]) \(column[2]) \(column[3]) \(column[4])")
            }
        }
        // Core Data keeps an entity's old name in Z_NAME after a renaming; only its number counts.
        for (entity, number) in try StoreLayout.actual(for: model, on: connection).entityNumbers {
            objects["entity \(entity)"] = Object(content: "\(number)")
        }
        return objects
    }

    /// Returns SQL with single or no blanks, without quotes, in one case.
    private static func normalized(_ sql: String) -> String {
        var text = ""
        for character in sql.uppercased() where character != "\"" {
            if character.isWhitespace {
                if text.last?.isWhitespace == false, text.last != "(", text.last != "," { text.append(" ") }
                continue
            }
            if ",()".contains(character), text.last == " " { text.removeLast() }
            text.append(character)
        }
        return text
    }
}
