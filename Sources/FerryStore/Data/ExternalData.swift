package import FerryBase
package import FerryModel
package import FerrySQLite

/// Values of attributes with external storage, and the files of large values.
///
/// The first byte of such a value is 01 before bytes in the row, or 02 before a file's name (36 characters of a UUID
/// and a zero byte). Ferry copies both forms unchanged.
package enum ExternalData {
    /// Returns the folder of a store's external files, which may not exist.
    package static func folder(forStore path: String) -> String {
        supportFolder(forStore: path) + "/_EXTERNAL_DATA"
    }

    /// Returns the hidden folder beside a store with all its data outside the database.
    package static func supportFolder(forStore path: String) -> String {
        let name = FileLayer.name(of: path)
        let parent = FileLayer.parent(of: path)
        // A leading dot is part of the name, not the start of an extension.
        let dot = name.dropFirst().lastIndex(of: ".")
        let base = dot.map { String(name[..<$0]) } ?? name
        return (parent == "/" ? "" : parent) + "/.\(base)_SUPPORT"
    }

    /// Returns the name of a value's external file, or nil if the value's bytes are in the row.
    package static func fileName(in value: UnsafeRawBufferPointer) -> String? {
        guard value.count == 38, value[0] == 0x02, value[37] == 0 else { return nil }
        let name = value[1..<37]
        let isUUID = name.enumerated().allSatisfy { offset, byte in
            switch offset {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default:
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
        }
        return isUUID ? String(decoding: name, as: UTF8.self) : nil
    }

    package static func reference(to fileName: String) -> [UInt8] {
        precondition(fileName.utf8.count == 36, "An external file is named by a UUID.")
        return [0x02] + Array(fileName.utf8) + [0x00]
    }

    package static func size(ofStore path: String, files: FileLayer) throws -> (files: Int64, bytes: Int64) {
        let folder = folder(forStore: path)
        var size: (files: Int64, bytes: Int64) = (0, 0)
        guard try files.exists(folder) else { return size }
        try files.forEachEntry(in: folder) { entry in
            guard !entry.isDirectory else { return }
            size.files += 1
            size.bytes += try files.attributes(folder + "/" + entry.name).size
        }
        return size
    }

    /// Calls the body with each external file's name in an attribute's values, in constant memory; names may repeat.
    ///
    /// - Throws: ``DatabaseError``, or any error of the body.
    package static func forEachReference(
        of key: PropertyKey, in layout: StoreLayout, on connection: Connection, _ body: (String) throws -> Void
    ) throws {
        guard let table = layout.table(of: key.entity), let column = layout.attributeColumns[key] else { return }
        try forEachReference(in: column.name, of: table.name, on: connection, body)
    }

    static func forEachReference(
        in column: String, of table: String, on connection: Connection, _ body: (String) throws -> Void
    ) throws {
        let name = Connection.quoted(column)
        // By the length SQLite skips other values without a read.
        let rows = try connection.prepare(
            "SELECT \(name) FROM \(SQLName.quoted("main", table)) WHERE length(\(name)) = 38")
        while try rows.step() {
            if let file = rows.withBytes(0, fileName) { try body(file) }
        }
    }

    /// Returns the columns whose values may be external, in name order.
    package static func attributes(of layout: StoreLayout) -> [(key: PropertyKey, value: Column)] {
        layout.attributeColumns.filter { layout.attribute($0.key)?.allowsExternalStorage == true }
            .inOrder { $0.key < $1.key }
    }
}
