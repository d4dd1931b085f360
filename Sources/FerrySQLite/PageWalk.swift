internal import CSQLite
package import FerryBase

/// One walk over the pages of a database: whether they fit together, and how many rows of what kind its tables hold.
///
/// Looks for all that SQLite's own check of pages looks for (`quick_check`): every page has one place, in one b-tree,
/// behind one cell, or in the list of free ones; pages, cells and free blocks fit into each other; keys are in order;
/// records are as long as their headers say; and what `auto_vacuum` notes of each page is so. It finds that something is
/// wrong, and leaves it to SQLite to say what: then, and of whatever it cannot vouch for, ``isSound`` is false.
///
/// Each page is read once, and of long values the first bytes of each page. Memory: one bit per page, one page per level
/// of a b-tree, and buffers of a fixed size.
package struct PageWalk {
    /// Rows that are to be counted on the way.
    package struct Counted {
        package var table: String
        /// Holds the integer by which rows are counted; nil where they are all of one kind.
        package var column: String?
        /// Columns of which is noted between which integers their values lie.
        package var keys: [String] = []

        package init(table: String, column: String?, keys: [String] = []) {
            (self.table, self.column, self.keys) = (table, column, keys)
        }
    }

    /// Whether SQLite's own check would find nothing.
    package let isSound: Bool
    /// Rows of each table that has row ids.
    package let rows: [String: Int64]
    /// The first and the last row id of each table that has one for every number between them: which row ids there are
    /// need not be looked up then.
    package let wholeRanges: [String: ClosedRange<Int64>]
    /// What was counted, by table; a table that could not be counted so is missing.
    package let tallies: [String: RowTally]

    /// Walks over all pages; nil where they cannot be read past SQLite in one pass.
    ///
    /// The connection must be in a transaction such as ``PageReader`` requires. A stop ends the walk as it would end a
    /// statement.
    package init?(
        _ connection: Connection, schema: String = "main", counting counted: [Counted] = [],
        stop: StopRequest = StopRequest()
    ) throws(DatabaseError) {
        guard connection.isInTransaction else { return nil }
        let time = Clock.nanoseconds()
        guard let trees = try TreeRoots(connection, schema: schema, counting: counted) else { return nil }
        let reader = try PageReader(connection, schema: schema)
        guard let pageCount = try connection.pragma("page_count", in: schema)?.integer,
            // Frames are found by a window of pages; a b-tree goes from one to the other.
            !reader.readsLog || pageCount <= WriteAheadLog.windowPages,
            let pages = try WalkedPages(reader, count: pageCount)
        else { return nil }
        let isInterrupted = Locked(false)
        let interrupter = stop.add { isInterrupted.withLock { $0 = true } }
        defer { interrupter.end() }
        var walk = TreeWalk(pages, isInterrupted)
        defer { walk.free() }
        let rows = try walk.run(trees)
        // Of tables without row ids SQLite also looks whether their keys are in order, which only it can compare.
        let keyed = rows == nil ? [] : trees.trees.filter(\.isKeyed).map(\.table)
        var areKeysSound = true
        for table in keyed where areKeysSound {
            areKeysSound = try connection.damagedPagesBySQLite(schema: schema, limit: 1, table: table).isEmpty
        }
        isSound = rows != nil && areKeysSound
        self.rows = (rows ?? [:]).mapValues(\.count)
        wholeRanges = (rows ?? [:]).compactMapValues(\.wholeRange)
        tallies = isSound ? trees.tallies : [:]
        connection.report(
            "-- quick_check of \(schema) of \(connection.path)", nanoseconds: Clock.nanoseconds(since: time))
    }
}

extension Connection {
    /// How `PRAGMA quick_check` begins what it says of values, in the versions of SQLite that say it.
    ///
    /// Constraints that rows do not keep, values that a column's type does not expect, and search indexes: the pages are
    /// sound, and all rows are there.
    private static let wordsAboutValues = [
        "NULL value in ", "CHECK constraint failed in ", "NUMERIC value in ", "TEXT value in ", "non-",
        "missing value ", "unable to validate ", "malformed inverted index ", "wrong # of entries in ", "row ",
    ]

    /// Looks through all pages of the database: b-trees, overflow pages, free pages, and the order of the keys.
    ///
    /// Reads every page once where all fit (``PageWalk``); else SQLite is asked, which reads those of tables twice.
    /// Memory: one bit per page beside the cache. Anything that a stop asks to end throws an error that
    /// ``DatabaseError/isInterrupted``.
    ///
    /// `walk` is a walk over the pages as they are now, where there was one.
    ///
    /// - Returns: What does not fit, in SQLite's words: tables' pages and cells, no values. Empty for a sound file.
    package func damagedPages(
        schema: String = "main", limit: Int = 100, after walk: PageWalk? = nil, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) -> [String] {
        var walk = walk
        if walk == nil { walk = try PageWalk(self, schema: schema, stop: stop) }
        return walk?.isSound == true ? [] : try damagedPagesBySQLite(schema: schema, limit: limit)
    }

    /// The same as SQLite finds it, whatever a walk may have found; of the whole database, or of one table.
    package func damagedPagesBySQLite(
        schema: String = "main", limit: Int = 100, table: String? = nil
    ) throws(DatabaseError) -> [String] {
        // Of values there may be as many findings as rows; they must not hide those of pages, which come first.
        let subject = table.map(Connection.quoted) ?? String(limit)
        let statement = try prepare("PRAGMA \(Connection.quoted(schema)).quick_check(\(subject))")
        var found: [String] = []
        while try statement.step() {
            let finding = statement.text(0)
            if finding == "ok" || Self.isAboutValues(finding) { continue }
            // One finding may hold many lines, of which the first only names the database.
            found += finding.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("*** in database") }
        }
        return found
    }

    private static func isAboutValues(_ finding: String) -> Bool {
        // Of rows that are not in the order of their keys SQLite says so in other words.
        wordsAboutValues.contains { finding.hasPrefix($0) } && !finding.hasPrefix("row not in PRIMARY KEY order")
    }
}

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
        let wanted = Dictionary(counted.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
        let keyed = try Set(
            connection.rows("SELECT name FROM pragma_table_list WHERE schema = ? AND wr", [.text(schema)])
                .compactMap { $0[0].text })
        trees.append(Tree(root: 1, isTable: true, table: "sqlite_master"))
        for row in tables {
            guard let name = row[0].text, let root = row[2].integer, root <= UInt32.max else { return nil }
            var tree = Tree(root: UInt32(root), isTable: row[1].integer == 1, table: name)
            tree.isKeyed = tree.isTable && keyed.contains(name)
            if tree.isKeyed { tree.isTable = false }
            if tree.isTable, let counted = wanted[name] {
                tree.tally = try RowTally(of: counted, on: connection, schema: schema)
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

/// The rows of a table as a walk over its pages counts them: by the integer in one of their columns, with the columns
/// that are NULL in them and the keys that others hold.
package final class RowTally {
    /// More kinds of rows than a table of any model has; a table with more is counted by a statement.
    private static let mostGroups = 256

    let pointer: UnsafeMutablePointer<ferry_tally>
    private let columns: [String]
    private let keys: Set<String>

    /// Nil where the columns of a row do not stand in the order of the table's, or one may have a value that no row
    /// holds.
    init?(of counted: PageWalk.Counted, on connection: Connection, schema: String) throws(DatabaseError) {
        let found = try connection.rows(
            "SELECT name, dflt_value, hidden, pk FROM pragma_table_xinfo(?1, ?2) ORDER BY cid",
            [.text(counted.table), .text(schema)])
        let columns = found.map { $0[0].text ?? "" }
        self.columns = columns
        keys = Set(found.filter { $0[3].integer != 0 }.compactMap { $0[0].text })
        let group = counted.column.map { columns.firstIndex(of: $0) } ?? -1
        guard columns.count <= FERRY_TALLY_COLUMNS,
            found.allSatisfy({ $0[1] == .null && $0[2].integer == 0 }), let group
        else { return nil }
        let room = counted.column == nil ? 1 : Self.mostGroups
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: ferry_tally())
        pointer.pointee.group = Int32(group)
        pointer.pointee.columns = Int32(columns.count)
        pointer.pointee.capacity = Int32(room)
        pointer.pointee.values = .allocate(capacity: room)
        pointer.pointee.rows = .allocate(capacity: room)
        pointer.pointee.nulls = .allocate(capacity: room * columns.count)
        pointer.pointee.roles = .allocate(capacity: columns.count)
        pointer.pointee.keys = .allocate(capacity: columns.count)
        for (place, column) in columns.enumerated() {
            let isKey = counted.keys.contains(column)
            pointer.pointee.roles[place] = UInt8((place == group ? FERRY_GROUP : 0) | (isKey ? FERRY_KEY : 0))
            (pointer.pointee.keys + place).initialize(to: ferry_keys(has_others: 0, least: .max, greatest: .min))
        }
    }

    deinit {
        pointer.pointee.values.deallocate()
        pointer.pointee.rows.deallocate()
        pointer.pointee.nulls.deallocate()
        pointer.pointee.roles.deallocate()
        pointer.pointee.keys.deallocate()
        pointer.deallocate()
    }

    /// Whether every row was counted.
    var isWhole: Bool { pointer.pointee.is_lost == 0 }

    private var groups: Range<Int> { 0..<Int(pointer.pointee.count) }

    /// Rows by the integer; of a table whose rows are all of one kind, by 0.
    package var rows: [Int64: Int64] {
        Dictionary(uniqueKeysWithValues: groups.map { (pointer.pointee.values[$0], pointer.pointee.rows[$0]) })
    }

    /// Rows of one integer in which a column is NULL; nil where there is no such column, or it is of the key, which may
    /// be written as NULL without being so.
    package func empty(_ column: String, of value: Int64) -> Int64? {
        guard !keys.contains(column), let place = columns.firstIndex(of: column) else { return nil }
        guard let group = groups.first(where: { pointer.pointee.values[$0] == value }) else { return 0 }
        return pointer.pointee.nulls[group * columns.count + place]
    }

    /// Whether every value of a column is NULL or an integer of a range; false where that was not noted.
    package func holds(_ column: String, within range: ClosedRange<Int64>) -> Bool {
        guard let place = columns.firstIndex(of: column) else { return false }
        let keys = pointer.pointee.keys[place]
        guard pointer.pointee.roles[place] & UInt8(FERRY_KEY) != 0, keys.has_others == 0 else { return false }
        return keys.least > keys.greatest || range.contains(keys.least) && range.contains(keys.greatest)
    }
}
