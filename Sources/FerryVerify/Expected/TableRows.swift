internal import FerrySQLite

/// The rows of a table in key order; a value too large to be read with its row stays unread.
final class TableRows {
    private let connection: Connection
    private let schema: String
    private let table: String
    /// The columns, not quoted; the first is the key.
    private let columns: [String]
    private let limit: Int
    private let key: String
    /// The table's name before its columns; empty without joins.
    private let prefix: String
    private let condition: String
    private var range: KeyRange
    private(set) var current: Statement
    /// The statement of rows without large values.
    let walk: Statement
    private(set) var isWhole = true
    private var lastKey: Int64
    /// The columns of the current row whose large values are not read, with their storage classes; usually none.
    private var large: [Int: StorageClass] = [:]
    private lazy var largeRow = Result { try LargeRowStatements(self) }

    /// Names are not quoted; the first column is the rowid.
    ///
    /// The other columns are SQL, and not available in a row with a large value. With joins the table's name is `o`,
    /// also in the condition.
    init(
        of table: String, schema: String, columns: [String], and others: [String] = [], joining joins: String = "",
        where condition: String? = nil, range: KeyRange = .all, in context: VerificationContext
    ) throws(DatabaseError) {
        self.range = range
        lastKey = range.above
        connection = context.connection
        limit = context.verification.valueLimit
        self.schema = schema
        self.table = table
        self.columns = columns
        prefix = joins.isEmpty ? "" : "o."
        key = prefix + Connection.quoted(columns[0])
        // SQLite seeks by one lower bound only: a second one would be tested row by row.
        self.condition = " AND \(key) <= ?2" + (condition.map { " AND \($0)" } ?? "")
        let selected = (columns.map { [prefix] in prefix + Connection.quoted($0) } + others).joined(separator: "\n, ")
        walk = try connection.prepare(
            """
            SELECT \(selected) FROM \(schema).\(Connection.quoted(table))\(joins.isEmpty ? "" : " o" + joins)
            WHERE \(key) > ?1\(self.condition) ORDER BY \(key)
            """)
        current = walk
        try bind(lastKey, to: walk)
    }

    /// Makes a statement read the range's rows above a key.
    private func bind(_ key: Int64, to statement: Statement) throws(DatabaseError) {
        try statement.bind(key, at: 1)
        try statement.bind(range.through, at: 2)
    }

    /// Begins a range, with the same statements.
    func move(to range: KeyRange) throws(DatabaseError) {
        self.range = range
        reset()
        try bind(lastKey, to: walk)
    }

    /// Steps to the next row; false at the end.
    func step() throws -> Bool {
        if !isWhole { try leaveLargeRow() }
        let limitBefore = connection.limit(.length, limit)
        defer { connection.limit(.length, limitBefore) }
        do {
            guard try walk.step() else { return false }
            lastKey = walk.integer(0)
            return true
        } catch let error where error.isTooBig {
            connection.limit(.length, limitBefore)
            try enterLargeRow()
            return true
        }
    }

    func reset() {
        current.reset()
        (large, lastKey, current, isWhole) = ([:], range.above, walk, true)
    }

    // MARK: Rows with large values

    /// The statements that read a row without its large values.
    private struct LargeRowStatements {
        /// Key and storage classes of the next row.
        let classes: Statement
        let row: Statement

        init(_ rows: TableRows) throws {
            let names = rows.columns.map { rows.prefix + Connection.quoted($0) }
            let place =
                "FROM \(rows.schema).\(Connection.quoted(rows.table))\(rows.prefix.isEmpty ? "" : " o")"
            classes = try rows.connection.prepare(
                """
                SELECT \(names[0]), \(names.map { "typeof(\($0))" }.joined(separator: ", ")) \(place)
                WHERE \(names[0]) > ?1\(rows.condition) ORDER BY \(names[0]) LIMIT 1
                """)
            // SQLite does not read a value whose parameter is 1.
            let values = names.enumerated().map { "CASE WHEN ?\($0 + 2) THEN NULL ELSE \($1) END" }
            row = try rows.connection.prepare(
                "SELECT \(values.joined(separator: ", ")) \(place) WHERE \(names[0]) = ?1")
        }
    }

    private func enterLargeRow() throws {
        let largeRow = try largeRow.get()
        try bind(lastKey, to: largeRow.classes)
        defer { largeRow.classes.reset() }
        guard try largeRow.classes.step() else { throw PlainFailure("a row disappeared while it was read") }
        lastKey = largeRow.classes.integer(0)
        try largeRow.row.bind(lastKey, at: 1)
        for place in columns.indices {
            let type = largeRow.classes.text(place + 1)
            var isLarge = false
            if place > 0, type == "text" || type == "blob" {
                isLarge = try handle(place).count > limit / 2
                if isLarge { large[place] = type == "text" ? .text : .blob }
            }
            try largeRow.row.bind(Int64(isLarge ? 1 : 0), at: place + 2)
        }
        (current, isWhole) = (largeRow.row, false)
        guard try current.step() else { throw PlainFailure("a row disappeared while it was read") }
    }

    private func leaveLargeRow() throws {
        current.reset()
        (large, current, isWhole) = ([:], walk, true)
        try bind(lastKey, to: walk)
    }

    private func handle(_ place: Int) throws(DatabaseError) -> BlobHandle {
        try BlobHandle(columns[place], of: table, row: lastKey, schema: schema, on: connection)
    }

    // MARK: Values

    func integer(_ place: Int) -> Int64 { isWhole ? walk.integer(place) : current.integer(place) }
    func isNull(_ place: Int) -> Bool { large[place] == nil && current.isNull(place) }

    func isLarge(_ place: Int) -> Bool { !large.isEmpty && large[place] != nil }

    /// A value; a large one is read if memory allows.
    func raw(_ place: Int) throws -> PlainValue {
        guard let type = large.isEmpty ? nil : large[place] else { return StoredValue.raw(current, place) }
        let handle = try handle(place)
        guard handle.count <= connection.limit(.length) else { throw PlainFailure("the value is too large") }
        var bytes = [UInt8](repeating: 0, count: handle.count)
        try bytes.withUnsafeMutableBytes { try handle.read(into: $0, at: 0) }
        return type == .text ? .text(bytes) : .blob(bytes)
    }

    func content(_ place: Int) -> LargeContent? {
        large[place].map {
            LargeContent(
                schema: schema, table: table, column: columns[place], row: lastKey, isText: $0 == .text)
        }
    }

    // MARK: Comparing

    func isEqual(_ place: Int, to integer: Int64) -> Bool {
        !isLarge(place) && current.storageClass(place) == .integer && current.integer(place) == integer
    }

    /// Whether a value has the same storage class and bytes as another one.
    func isEqual(_ place: Int, to value: PlainValue) throws -> Bool {
        guard let content = large.isEmpty ? nil : content(place) else {
            return StoredValue.isEqual(current, place, to: value)
        }
        switch value {
        case .text(let bytes): return try content.isText && content.holds(bytes, on: connection)
        case .blob(let bytes): return try !content.isText && content.holds(bytes, on: connection)
        default: return false
        }
    }

    func isEqual(_ place: Int, _ other: TableRows, _ otherPlace: Int) throws -> Bool {
        switch (isLarge(place), other.isLarge(otherPlace)) {
        case (false, false): return current.holdsSame(place, as: other.current, otherPlace)
        case (true, false): return try isEqual(place, to: try other.raw(otherPlace))
        case (false, true): return try other.isEqual(otherPlace, to: try raw(place))
        case (true, true):
            guard let content = other.content(otherPlace) else { return false }
            return try isEqual(place, to: content)
        }
    }

    func isEqual(_ place: Int, to expected: LargeContent) throws -> Bool {
        guard let content = content(place), content.isText == expected.isText else { return false }
        return try content.equals(expected, on: connection)
    }
}
