import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// One random change of a store, as a bad disk, a bug or another program may make it.
struct RandomChange {
    enum Kind: CaseIterable {
        /// A bit of a cell: of an entity's table, of a join table, of an index, of Core Data's own tables, of the schema.
        case rowBit, joinBit, indexBit, metadataBit, catalogBit
        /// A changed value, a deleted or duplicated row, a link, a row of Core Data's own tables, an object of the
        /// schema.
        case cell, row, link, metadata, catalog
        /// A file beside the store: a bit of the file, or the whole file.
        case externalFile
    }

    let kind: Kind
    let store: String
    /// The store whose folder holds the external files.
    let files: String
    private var random: SplitMix

    init(_ kind: Kind, of store: String, files: String, seed: UInt64) {
        self.kind = kind
        self.store = store
        self.files = files
        random = SplitMix(seed: seed)
    }

    /// Makes the change; after a refusal by SQLite, tries another one.
    ///
    /// - Returns: A description of the change.
    mutating func make() throws -> String {
        for _ in 0..<100 {
            do {
                if let change = try attempt() { return change }
            } catch let error as DatabaseError where error.isConstraint || error.isInSQL || error.primaryCode == 20 {
                // SQLite refuses two rows with one key, an object that another one needs, and a key that is not a number.
                continue
            }
        }
        throw FerryError(.internalError, "No change of kind \(kind) could be made.")
    }

    private mutating func attempt() throws -> String? {
        switch kind {
        case .rowBit: try flipCell(Self.isOfRows)
        case .joinBit: try flipCell(Self.isJoin)
        case .indexBit: try flipCell { $0.hasPrefix("*") }
        case .metadataBit: try flipCell(Self.isSystem)
        case .catalogBit: try flipCell { $0 == "sqlite_schema" }
        case .cell: try changeCell(Self.isOfRows)
        case .link: try changeCell(onlyNumbers: true) { Self.isJoin($0) || $0 == "ZBOOK" || $0 == "ZCOVER" }
        case .metadata: try random.below(2) == 0 ? changeCell(Self.isSystem) : changeRow(Self.isSystem)
        case .row: try changeRow { !Self.isSystem($0) }
        case .catalog: try changeCatalog()
        case .externalFile: try changeFile()
        }
    }

    /// Tables of entities, of history and of the app.
    private static func isOfRows(_ table: String) -> Bool {
        table.hasPrefix("Z") && !table.hasPrefix("Z_")
            || ["ACHANGE", "ATRANSACTION"].contains(table) || table.hasPrefix("app_")
    }

    private static func isSystem(_ table: String) -> Bool {
        ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"].contains(table)
    }

    /// A join table's name begins with the number of an entity.
    private static func isJoin(_ table: String) -> Bool {
        table.hasPrefix("Z_") && table.dropFirst(2).first?.isNumber == true
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[random.below(elements.count)]
    }

    // MARK: Bits

    /// Flips a bit of a cell on a leaf of a b-tree; names of indexes begin with `*` here.
    private mutating func flipCell(_ isWanted: (String) -> Bool) throws -> String? {
        let pages: [[Value]]
        let size: Int
        do {
            let connection = try Connection(path: store, mode: .readOnly)
            size = Int(try connection.pragma("page_size")?.integer ?? 0)
            pages = try connection.rows(
                """
                SELECT d.pageno, CASE WHEN m.type = 'index' THEN '*' || d.name ELSE d.name END, m.tbl_name
                FROM dbstat AS d LEFT JOIN sqlite_master AS m ON m.name = d.name
                WHERE d.pagetype = 'leaf' ORDER BY d.pageno
                """)
        }
        let wanted = pages.filter { isWanted($0[1].text ?? "") && $0[2].text?.hasPrefix("ferry_") != true }
        guard let page = pick(wanted), let number = page[0].integer else { return nil }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
        defer { try? file.close() }
        let start = UInt64(number - 1) * UInt64(size)
        try file.seek(toOffset: start)
        let bytes = Array(try file.read(upToCount: size) ?? Data())
        let header = number == 1 ? 100 : 0
        func word(_ place: Int) -> Int { Int(bytes[place]) << 8 | Int(bytes[place + 1]) }
        let cells = (0..<word(header + 3)).map { word(header + 8 + 2 * $0) }
        guard let cell = pick(cells) else { return nil }
        // Up to where the next cell begins.
        let end = min(cells.filter { $0 > cell }.min() ?? size, size)
        let (place, bit) = (cell + random.below(end - cell), random.below(8))
        try file.seek(toOffset: start + UInt64(place))
        try file.write(contentsOf: [bytes[place] ^ UInt8(1 << bit)])
        return "bit \(bit) of byte \(place) of page \(number), \(page[1].text ?? "")"
    }

    // MARK: SQL

    private func open() throws -> Connection {
        let connection = try Connection(path: store, mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute("PRAGMA synchronous = OFF")
        return connection
    }

    private mutating func table(_ isWanted: (String) -> Bool, on connection: Connection) throws -> String? {
        let tables = try connection.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        )
        .compactMap { $0[0].text }
        return pick(tables.filter { isWanted($0) && !$0.hasPrefix("ferry_") && !$0.hasPrefix("sqlite_") })
    }

    private mutating func row(of table: String, on connection: Connection) throws -> Int64? {
        pick(try connection.rows("SELECT rowid FROM \"\(table)\" NOT INDEXED").compactMap { $0[0].integer })
    }

    private mutating func changeCell(onlyNumbers: Bool = false, _ isWanted: (String) -> Bool) throws -> String? {
        let connection = try open()
        guard let table = try table(isWanted, on: connection), let row = try row(of: table, on: connection) else {
            return nil
        }
        var columns = try connection.rows("SELECT name, type FROM pragma_table_info(?)", [.text(table)])
        if onlyNumbers { columns = columns.filter { $0[1].text == "INTEGER" } }
        guard let column = pick(columns.compactMap { $0[0].text }) else { return nil }
        let place = "\"\(table)\" SET \"\(column)\""
        let before = try connection.value("SELECT quote(\"\(column)\") FROM \"\(table)\" WHERE rowid = \(row)")
        let value = ["NULL", "\"\(column)\" + 1", "1", "2", "'x' || \"\(column)\"", "x'00'", "-1.5"][random.below(7)]
        try connection.execute("UPDATE \(place) = \(value) WHERE rowid = \(row)")
        let after = try connection.value("SELECT quote(\"\(column)\") FROM \"\(table)\" WHERE rowid = \(row)")
        return before == after ? nil : "\(table) \(row) \(column) = \(value)"
    }

    private mutating func changeRow(_ isWanted: (String) -> Bool) throws -> String? {
        let connection = try open()
        guard let table = try table(isWanted, on: connection), let row = try row(of: table, on: connection) else {
            return nil
        }
        if random.below(2) == 0 {
            try connection.execute("DELETE FROM \"\(table)\" WHERE rowid = \(row)")
            return "\(table) \(row) deleted"
        }
        // Inserts the row again under another key, where the table allows a duplicate.
        let columns = try connection.rows("SELECT name, pk FROM pragma_table_info(?)", [.text(table)])
        let names = columns.compactMap { $0[0].text }.map { "\"\($0)\"" }
        let isJoin = columns.count(where: { ($0[1].integer ?? 0) > 0 }) > 1
        let values = columns.map { column in
            (column[1].integer ?? 0) > 0
                ? "\"\(column[0].text ?? "")\" + \(isJoin ? 1 : 200)" : "\"\(column[0].text ?? "")\""
        }
        try connection.execute(
            "INSERT INTO \"\(table)\" (\(names.joined(separator: ", "))) "
                + "SELECT \(values.joined(separator: ", ")) FROM \"\(table)\" WHERE rowid = \(row)")
        return "\(table) \(row) again"
    }

    /// Drops a schema object, or changes a letter of its text in the schema.
    private mutating func changeCatalog() throws -> String? {
        let connection = try open()
        let objects = try connection.rows(
            "SELECT rowid, type, name, sql FROM sqlite_master WHERE name NOT LIKE 'ferry%' ORDER BY rowid")
        guard let object = pick(objects), let name = object[2].text, let type = object[1].text,
            let row = object[0].integer
        else { return nil }
        if random.below(2) == 0 {
            guard object[3].text != nil, type != "table" || random.below(4) == 0 else { return nil }
            try connection.execute("DROP \(type) \"\(name)\"")
            return "\(type) \(name) dropped"
        }
        guard let sql = object[3].text else { return nil }
        var letters = Array(sql.utf8)
        let place = random.below(letters.count)
        letters[place] = letters[place] ^ UInt8([1, 2, 32][random.below(3)])
        guard letters[place] > 32 else { return nil }
        try connection.execute("PRAGMA writable_schema = ON")
        try connection.run(
            "UPDATE sqlite_master SET sql = ? WHERE rowid = \(row)", [.text(String(decoding: letters, as: UTF8.self))])
        return "letter \(place) of the statement of \(type) \(name)"
    }

    // MARK: Files

    private mutating func changeFile() throws -> String? {
        let folder = ExternalData.folder(forStore: files)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        guard let name = pick(names) else { return nil }
        let path = folder + "/" + name
        if random.below(3) == 0 {
            try FileManager.default.removeItem(atPath: path)
            return "file \(name) removed"
        }
        var content = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = random.below(content.count)
        content[place] ^= UInt8(1 << random.below(8))
        try content.write(to: URL(fileURLWithPath: path))
        return "bit of byte \(place) of file \(name)"
    }
}
