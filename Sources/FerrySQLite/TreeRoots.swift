/// The b-trees of a database.
struct TreeRoots {
    struct Tree {
        var root: UInt32
        var isTable: Bool
        /// Whether it is a table whose rows stand in the b-tree of its key.
        var isKeyed = false
        var tally: RowTally?
        var table: String
    }

    var trees: [Tree] = []

    /// Nil where the schema is not as any that SQLite writes.
    init?(_ connection: Connection, schema: String, counting counted: [PageWalk.Counted]) throws(DatabaseError) {
        let master = Connection.quoted(schema) + ".sqlite_master"
        let tables = try connection.rows(
            "SELECT name, type = 'table', rootpage FROM \(master) WHERE rootpage > 0 ORDER BY rowid")
        let wanted = Dictionary(counted.map { ($0.table, $0.column) }, uniquingKeysWith: { first, _ in first })
        let keyed = try Set(
            connection.rows("SELECT name FROM pragma_table_list WHERE schema = ? AND wr", [.text(schema)])
                .compactMap { $0[0].text })
        trees.append(Tree(root: 1, isTable: true, tally: nil, table: "sqlite_master"))
        for row in tables {
            guard let name = row[0].text, let root = row[2].integer, root <= UInt32.max else { return nil }
            var tree = Tree(root: UInt32(root), isTable: row[1].integer == 1, tally: nil, table: name)
            tree.isKeyed = tree.isTable && keyed.contains(name)
            if tree.isKeyed { tree.isTable = false }
            if tree.isTable, let column = wanted[name] {
                tree.tally = try RowTally(of: name, by: column, on: connection, schema: schema)
            }
            trees.append(tree)
        }
    }

    var tallies: [String: RowTally] {
        var tallies: [String: RowTally] = [:]
        for tree in trees { if let tally = tree.tally, tally.isWhole { tallies[tree.table] = tally } }
        return tallies
    }
}

/// The rows of one table.
struct RowsOfTable {
    var count: Int64 = 0
    /// Nil where there are none.
    var first: Int64?
    var last: Int64?

    var wholeRange: ClosedRange<Int64>? {
        guard let first, let last else { return nil }
        let (width, isTooWide) = last.subtractingReportingOverflow(first)
        return !isTooWide && width == count - 1 ? first...last : nil
    }
}
