internal import FerrySQLite

/// An index of the destination, and what stands in its entries.
struct StoredIndex: Sendable {
    struct Column: Sendable {
        /// The column, expression or row number, as SQL.
        var sql: String
        var isDescending: Bool
        /// Nil for one that only the app defines.
        var collation: RowOrder.Collation?
        /// Whether it is a key of the index, and not only what leads to the row.
        var isKey: Bool
    }

    let name: String
    let table: String
    let isUnique: Bool
    /// What makes a row have an entry; nil where every row has one.
    let filter: String?
    let columns: [Column]

    /// Nil when its entries cannot be read as such.
    ///
    /// - Parameters:
    ///   - row: Of `pragma_index_list`: name, whether it is unique, whether it is partial.
    ///   - table: Its table.
    ///   - rowID: A name by which the row's number can be read; nil where the table hides it.
    ///   - context: The stores.
    /// - Throws: ``DatabaseError``.
    init?(_ row: [Value], of table: String, rowID: String?, in context: VerificationContext) throws {
        guard let name = row[0].text else { return nil }
        self.name = name
        self.table = table
        isUnique = row[1].integer == 1
        let sql = try context.connection.value(
            "SELECT sql FROM destination.sqlite_master WHERE type = 'index' AND name = ?", [.text(name)])
        let text = sql?.text.flatMap { IndexText($0) }
        if row[2].integer == 1 {
            guard let condition = text?.filter else { return nil }
            filter = condition
        } else {
            filter = nil
        }
        var columns: [Column] = []
        for column in try context.connection.rows(
            "SELECT seqno, cid, name, desc, coll, key FROM pragma_index_xinfo(?, 'destination') ORDER BY seqno",
            [.text(name)])
        {
            let place = Int(column[0].integer ?? 0)
            let expression: String?
            switch column[1].integer {
            case -1: expression = rowID
            case -2: expression = text.flatMap { place < $0.keys.count ? $0.keys[place] : nil }
            default: expression = column[2].text.map { Connection.quoted($0) }
            }
            guard let expression else { return nil }
            columns.append(
                Column(
                    sql: expression, isDescending: column[3].integer == 1,
                    collation: column[4].text.flatMap { Self.collations[$0.uppercased()] },
                    isKey: column[5].integer == 1))
        }
        guard !columns.isEmpty else { return nil }
        self.columns = columns
    }

    private static let collations: [String: RowOrder.Collation] = [
        "BINARY": .binary, "NOCASE": .noCase, "RTRIM": .rightTrim,
    ]

    /// The order of its entries, of which one out of its place is one that a search does not find; nil when only the app
    /// could say what comes first.
    var order: RowOrder? {
        let known = columns.compactMap { column in column.collation.map { ($0, column.isDescending) } }
        guard known.count == columns.count else { return nil }
        return RowOrder(
            known.map { (collation: $0.0, isDescending: $0.1) }, keyCount: columns.prefix { $0.isKey }.count,
            isUnique: isUnique)
    }

    /// Whether every row has an entry, and a column's numbers rise from one to the next.
    func isOrdered(by column: String) -> Bool {
        guard let first = columns.first, filter == nil else { return false }
        return first.sql == Connection.quoted(column) && !first.isDescending && first.collation != nil
    }

    /// The part of the check that reads it by itself.
    var partName: String { "entries of \(name)" }

    /// The columns of an entry, as SQL; a comment in the index's own text ends with the line.
    var selected: [String] { columns.map(\.sql) }

    /// What stands behind the columns in a query for every entry, in the index's own order, from the index alone.
    var entries: String {
        "FROM destination.\(Connection.quoted(table)) INDEXED BY \(Connection.quoted(name))"
            + (filter.map { " WHERE \($0)" } ?? "")
    }

    /// Every entry.
    var query: String { "SELECT \(selected.joined(separator: "\n, "))\n\(entries)" }
}

/// What a CREATE INDEX statement says that no pragma tells: the expressions of its keys, and its condition.
struct IndexText {
    /// Of each key in order, without its direction.
    var keys: [String] = []
    var filter: String?

    private enum Kind { case word, quoted, sign(UInt8) }

    /// Nil when the text is not one that SQLite keeps for an index.
    init?(_ sql: String) {
        let text = Array(sql.utf8)
        var depth = 0
        var start: Int?
        // Whether the list of keys is at its end.
        var isClosed = false
        // Where the key at hand ends, if its direction is left out.
        var last: (range: Range<Int>, isDirection: Bool)?
        func key(_ range: Range<Int>) -> String {
            let stop = last.flatMap { $0.isDirection ? $0.range.lowerBound : nil } ?? range.upperBound
            return String(decoding: text[range.lowerBound..<stop], as: UTF8.self)
        }
        for (kind, range) in Self.tokens(of: text) {
            if isClosed {
                guard case .word = kind, String(decoding: text[range], as: UTF8.self).uppercased() == "WHERE" else {
                    return nil
                }
                filter = String(decoding: text[range.upperBound...], as: UTF8.self)
                return
            }
            switch kind {
            case .sign(UInt8(ascii: "(")):
                depth += 1
                if depth == 1 { start = range.upperBound }
            case .sign(UInt8(ascii: ")")):
                depth -= 1
                if depth == 0, let begin = start {
                    keys.append(key(begin..<range.lowerBound))
                    isClosed = true
                }
            case .sign(UInt8(ascii: ",")) where depth == 1:
                if let begin = start { keys.append(key(begin..<range.lowerBound)) }
                start = range.upperBound
            default: break
            }
            var isDirection = false
            if case .word = kind, depth == 1 {
                isDirection = ["ASC", "DESC"].contains(String(decoding: text[range], as: UTF8.self).uppercased())
            }
            last = (range, isDirection)
        }
        if !isClosed { return nil }
    }

    /// Words, quoted texts and signs, without blanks and comments.
    private static func tokens(of text: [UInt8]) -> [(Kind, Range<Int>)] {
        var tokens: [(Kind, Range<Int>)] = []
        var index = 0
        func starts(_ sign: String) -> Bool { text[index...].starts(with: sign.utf8) }
        while index < text.count {
            let begin = index
            let byte = text[index]
            if starts("--") {
                while index < text.count, text[index] != UInt8(ascii: "\n") { index += 1 }
            } else if starts("/*") {
                index += 2
                while index < text.count, !starts("*/") { index += 1 }
                index = min(index + 2, text.count)
            } else if "\"'`[".utf8.contains(byte) {
                let close = byte == UInt8(ascii: "[") ? UInt8(ascii: "]") : byte
                index += 1
                // A doubled quote ends one text and begins the next, which comes to the same here.
                while index < text.count, text[index] != close { index += 1 }
                index = min(index + 1, text.count)
                tokens.append((.quoted, begin..<index))
            } else if isWordPart(byte) {
                while index < text.count, isWordPart(text[index]) { index += 1 }
                tokens.append((.word, begin..<index))
            } else {
                index += 1
                if byte > 0x20 { tokens.append((.sign(byte), begin..<index)) }
            }
        }
        return tokens
    }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        byte > 127 || byte == 0x5f || byte == 0x24 || (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
            || (0x61...0x7a).contains(byte)
    }
}
