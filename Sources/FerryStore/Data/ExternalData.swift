package import FerryBase
internal import FerryModel
package import FerrySQLite

/// Values of attributes with external storage, and the files that hold the large ones.
///
/// Every value of such an attribute has a first byte: 01 before bytes that stand in the row, 02 before the name of a
/// file (36 characters of a UUID and a zero byte). Ferry passes both through unchanged.
package enum ExternalData {
    /// The folder of a store's external files, whether it exists or not.
    package static func folder(forStore path: String) -> String {
        supportFolder(forStore: path) + "/_EXTERNAL_DATA"
    }

    /// The hidden folder beside a store that holds everything the store keeps outside its database.
    package static func supportFolder(forStore path: String) -> String {
        let name = FileLayer.name(of: path)
        let parent = FileLayer.parent(of: path)
        // A dot in front is part of the name, not the start of an extension.
        let dot = name.dropFirst().lastIndex(of: ".")
        let base = dot.map { String(name[..<$0]) } ?? name
        return (parent == "/" ? "" : parent) + "/.\(base)_SUPPORT"
    }

    /// The name of the file that a value refers to, or nil when its bytes stand in the row.
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

    /// The value that refers to a file.
    package static func reference(to fileName: String) -> [UInt8] {
        precondition(fileName.utf8.count == 36, "An external file is named by a UUID.")
        return [0x02] + Array(fileName.utf8) + [0x00]
    }

    /// Hands over the names in a store's folder of external files, one by one; none when there is no such folder.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`, or what the body throws.
    package static func forEachFile(
        ofStore path: String, files: FileLayer, _ body: (String) throws -> Void
    ) throws {
        let folder = folder(forStore: path)
        guard try files.exists(folder) else { return }
        try files.forEachEntry(in: folder) { entry in
            if !entry.isDirectory { try body(entry.name) }
        }
    }

    /// How many external files a store has, and their bytes in all.
    package static func size(ofStore path: String, files: FileLayer) throws -> (files: Int64, bytes: Int64) {
        let folder = folder(forStore: path)
        var size: (files: Int64, bytes: Int64) = (0, 0)
        try forEachFile(ofStore: path, files: files) { name in
            size.files += 1
            size.bytes += try files.attributes(folder + "/" + name).size
        }
        return size
    }

    /// Hands over the name of every external file that the values of an attribute refer to, in flat memory; a name may
    /// come twice.
    ///
    /// - Throws: ``DatabaseError``, or what the body throws.
    package static func forEachReference(
        of key: PropertyKey, in layout: StoreLayout, on connection: Connection, _ body: (String) throws -> Void
    ) throws {
        guard let table = layout.table(of: key.entity), let column = layout.attributeColumns[key] else { return }
        let name = Connection.quoted(column.name)
        // The length lets SQLite pass over other values without reading them.
        let rows = try connection.prepare(
            "SELECT \(name) FROM \(SQLName.quoted("main", table.name)) WHERE length(\(name)) = 38")
        while try rows.step() {
            if let file = rows.withBytes(0, fileName) { try body(file) }
        }
    }

    /// The columns of a layout whose values may be external, in name order.
    package static func attributes(of layout: StoreLayout) -> [(key: PropertyKey, value: Column)] {
        layout.attributeColumns.filter { layout.attribute($0.key)?.allowsExternalStorage == true }
            .sorted { $0.key < $1.key }
    }
}
