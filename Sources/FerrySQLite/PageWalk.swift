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
    /// - Parameters:
    ///   - connection: In a transaction such as ``PageReader`` requires.
    ///   - schema: The name under which the database is attached.
    ///   - counted: Tables whose rows are counted.
    ///   - stop: Ends the walk as it would end a statement.
    /// - Throws: ``DatabaseError``.
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
    /// - Throws: ``DatabaseError``.
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
