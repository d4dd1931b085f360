internal import CDatabase
internal import CSQLite
package import FerryBase

/// The result of one walk over all pages of a database: whether they are sound, and counts of rows by table and kind.
///
/// The walk checks everything that `quick_check` checks of pages: each page has one place, in one b-tree, one overflow
/// chain, or the freelist; pages, cells and free blocks fit; keys are in order; records are as long as their headers
/// say; and the pointer map of `auto_vacuum` is right. After damage or doubt ``isSound`` is false, and SQLite must
/// decide.
///
/// The walk reads each page once, of overflow pages the first bytes. Memory: one bit per page, one page per level of a
/// b-tree, and fixed buffers.
package struct PageWalk {
    /// A table whose rows the walk counts.
    package struct Counted {
        package var table: String
        /// The column with the integer to group by; nil to count all rows together.
        package var column: String?
        /// Columns whose least and greatest integers the walk notes.
        package var keys: [String] = []
        /// The different integers to expect in the column; a statement counts tables with many more.
        package var groups: Int

        package init(table: String, column: String?, keys: [String] = [], groups: Int = 1) {
            (self.table, self.column, self.keys, self.groups) = (table, column, keys, groups)
        }
    }

    /// Whether `quick_check` would find no damage.
    package let isSound: Bool
    /// Whether the walk has read the b-trees of some tables only.
    package let isPartial: Bool
    /// The bytes of the pages that the walk has read, overflow pages as whole ones.
    package let bytes: Int64
    /// The number of rows of each table with row ids.
    package let rows: [String: Int64]
    /// The first and the last row id of each table without gaps between them: such row ids need no look-ups.
    package let wholeRanges: [String: ClosedRange<Int64>]
    /// The bytes and the row id of the longest row of each table with row ids; the walk reads no values for them.
    package let longestRows: [String: (bytes: Int64, key: Int64)]
    /// The counts by table, without tables that the walk could not count.
    package let tallies: [String: RowTally]
    /// The tables and indexes whose pages, with those of their long values, are byte for byte those of the same numbers
    /// in the other database; empty without one.
    package let sameTrees: Set<String>

    /// Walks over all pages; nil if they cannot be read in one pass.
    ///
    /// The connection must be in a transaction as for ``PageReader``. A stop request interrupts the walk. With the schema
    /// of another database, pages are compared with those of that one. With `tables`, the walk reads only their b-trees,
    /// those of their indexes, the schema and the freelist, and ``isSound`` tells of these.
    package init?(
        _ connection: Connection, schema: String = "main", counting counted: [Counted] = [],
        comparingWith other: String? = nil, only tables: Set<String>? = nil, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) {
        guard connection.isInTransaction else { return nil }
        let time = Clock.nanoseconds()
        guard let trees = try TreeRoots(connection, schema: schema, counting: counted, only: tables) else { return nil }
        let reader = try PageReader(connection, schema: schema)
        guard let pageCount = try connection.pragma("page_count", in: schema)?.integer,
            // The log's index covers one window of pages, but a b-tree jumps between windows.
            !reader.readsLog || pageCount <= WriteAheadLog.windowPages,
            let pages = try WalkedPages(reader, count: pageCount)
        else { return nil }
        let others = try other.flatMap { schema throws(DatabaseError) in
            try WalkedPages(of: connection, schema: schema, pageSize: reader.pageSize)
        }
        let isInterrupted = Locked(false)
        let interrupter = stop.add { isInterrupted.withLock { $0 = true } }
        defer { interrupter.end() }
        var walk = TreeWalk(pages, comparingWith: others, isInterrupted)
        defer { walk.free() }
        let rows = try walk.run(trees)
        // Only SQLite can compare the keys of tables without row ids.
        let keyed = rows == nil ? [] : trees.trees.filter(\.isKeyed).map(\.table)
        var areKeysSound = true
        for table in keyed where areKeysSound {
            areKeysSound = try connection.damagedPagesBySQLite(schema: schema, table: table).isEmpty
        }
        isSound = rows != nil && areKeysSound
        isPartial = trees.isPartial
        bytes = Int64(walk.walked) * Int64(reader.pageSize)
        self.rows = (rows ?? [:]).mapValues(\.count)
        longestRows = (rows ?? [:]).mapValues(\.longest)
        wholeRanges = (rows ?? [:]).compactMapValues(\.wholeRange)
        tallies = isSound ? trees.tallies : [:]
        sameTrees = isSound ? walk.sameTrees : []
        connection.report(
            "-- quick_check of \(schema) of \(connection.path)", nanoseconds: Clock.nanoseconds(since: time))
    }
}

extension Connection {
    /// The prefixes of `quick_check`'s findings about values, in all versions of SQLite.
    ///
    /// Such findings are about constraints, types of values, and search indexes: pages and rows are sound then.
    private static let prefixesOfValueFindings = [
        "NULL value in ", "CHECK constraint failed in ", "NUMERIC value in ", "TEXT value in ", "non-",
        "missing value ", "unable to validate ", "malformed inverted index ", "wrong # of entries in ", "row ",
    ]

    /// Checks all pages of the database: b-trees, overflow pages, free pages, and the order of the keys.
    ///
    /// Reads every page once if all are sound (``PageWalk``); otherwise runs `quick_check`, which reads pages of tables
    /// twice. Memory: one bit per page beside the cache. An interrupt throws ``DatabaseError/isInterrupted``.
    ///
    /// `walk` is an existing walk over the current pages, if any.
    ///
    /// - Returns: The damage in SQLite's words: pages and cells, no values. Empty for a sound file.
    package func damagedPages(
        after walk: PageWalk? = nil, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) -> [String] {
        var walk = walk
        if walk == nil { walk = try PageWalk(self, stop: stop) }
        return walk?.isSound == true ? [] : try damagedPagesBySQLite()
    }

    /// Returns the damage that `quick_check` finds in the whole database or in one table.
    package func damagedPagesBySQLite(
        schema: String = "main", table: String? = nil
    ) throws(DatabaseError) -> [String] {
        // At most 100 findings: each row may have one about values, but those about pages come first.
        let subject = table.map(Connection.quoted) ?? "100"
        let statement = try prepare("PRAGMA \(Connection.quoted(schema)).quick_check(\(subject))")
        var found: [String] = []
        while try statement.step() {
            let finding = statement.text(0)
            if finding == "ok" || Self.isAboutValues(finding) { continue }
            // A finding may have many lines; the first only names the database.
            found += finding.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("*** in database") }
        }
        return found
    }

    private static func isAboutValues(_ finding: String) -> Bool {
        // SQLite's finding about the order of keys begins like one about values.
        prefixesOfValueFindings.contains { finding.hasPrefix($0) } && !finding.hasPrefix("row not in PRIMARY KEY order")
    }
}

/// The b-trees of a database.
struct TreeRoots {
    struct Tree {
        var root: UInt32
        var isTable: Bool
        /// Whether it is a table WITHOUT ROWID.
        var isKeyed = false
        var tally: RowTally?
        var table: String
    }

    var trees: [Tree] = []
    /// The largest root page of all b-trees.
    private(set) var largest: UInt32 = 1
    /// Whether the b-trees are those of some tables.
    let isPartial: Bool

    /// Nil if the schema is damaged.
    init?(
        _ connection: Connection, schema: String, counting counted: [PageWalk.Counted], only some: Set<String>?
    ) throws(DatabaseError) {
        isPartial = some != nil
        let master = Connection.quoted(schema) + ".sqlite_master"
        let tables = try connection.rows(
            "SELECT name, type = 'table', rootpage, tbl_name FROM \(master) WHERE rootpage > 0 ORDER BY rowid")
        let wanted = Dictionary(first: counted.map { ($0.table, $0) })
        let keyed = try Set(
            connection.rows("SELECT name FROM pragma_table_list WHERE schema = ? AND wr", [.text(schema)])
                .compactMap { $0[0].text })
        trees.append(Tree(root: 1, isTable: true, table: "sqlite_master"))
        for row in tables {
            guard let name = row[0].text, let root = row[2].integer, root <= UInt32.max else { return nil }
            largest = max(largest, UInt32(root))
            if let some, row[3].text.map(some.contains) == false { continue }
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
        for tree in trees { if let tally = tree.tally, tally.isComplete { tallies[tree.table] = tally } }
        return tallies
    }
}

/// The rows of one table.
struct RowsOfTable {
    var count: Int64 = 0
    /// Nil without rows.
    var first: Int64?
    var last: Int64?
    /// The bytes and the row id of the longest row.
    var longest: (bytes: Int64, key: Int64) = (0, 0)

    var wholeRange: ClosedRange<Int64>? {
        guard let first, let last else { return nil }
        let (width, isTooWide) = last.subtractingReportingOverflow(first)
        return !isTooWide && width == count - 1 ? first...last : nil
    }
}

/// The counts of a table's rows by the integer in one column, with the NULLs of columns and the range of keys.
package final class RowTally {
    /// The room for unexpected integers: rows of entities that the model does not have.
    private static let moreGroups = 8

    let pointer: UnsafeMutablePointer<ferry_tally>
    private let columns: [String]
    private let keys: Set<String>

    /// Nil if records may have another order than the columns, or omit default values.
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
        let room = counted.column == nil ? 1 : counted.groups + Self.moreGroups
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

    var isComplete: Bool { pointer.pointee.is_lost == 0 }

    private var groups: Range<Int> { 0..<Int(pointer.pointee.count) }

    /// The number of rows by the integer; by 0 if the table has no group column.
    package var rows: [Int64: Int64] {
        Dictionary(uniqueKeysWithValues: groups.map { (pointer.pointee.values[$0], pointer.pointee.rows[$0]) })
    }

    /// Returns the rows of one integer with NULL in a column; nil for an unknown column, or a key, stored as NULL.
    package func empty(_ column: String, of value: Int64) -> Int64? {
        guard !keys.contains(column), let place = columns.firstIndex(of: column) else { return nil }
        guard let group = groups.first(where: { pointer.pointee.values[$0] == value }) else { return 0 }
        return pointer.pointee.nulls[group * columns.count + place]
    }

    /// Whether every value of a column is NULL or an integer of the range; false if the walk did not note it.
    package func holds(_ column: String, within range: ClosedRange<Int64>) -> Bool {
        guard let place = columns.firstIndex(of: column) else { return false }
        let keys = pointer.pointee.keys[place]
        guard pointer.pointee.roles[place] & UInt8(FERRY_KEY) != 0, keys.has_others == 0 else { return false }
        return keys.least > keys.greatest || range.contains(keys.least) && range.contains(keys.greatest)
    }
}
