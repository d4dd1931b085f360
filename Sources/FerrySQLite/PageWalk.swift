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
    /// Rows that are to be counted on the way, by the integer in one of their columns.
    package struct Counted {
        package var table: String
        package var column: String

        package init(table: String, column: String) { (self.table, self.column) = (table, column) }
    }

    /// Whether SQLite's own check would find nothing.
    package let isSound: Bool
    /// Rows of each table that has row ids.
    package let rows: [String: Int64]
    /// The first and the last row id of each table that has one for every number between them: which row ids there are
    /// need not be looked up then.
    package let wholeRanges: [String: ClosedRange<Int64>]
    /// What was counted by a column, by table; a table that could not be counted so is missing.
    package let tallies: [String: RowTally]

    /// Walks over all pages; nil where they cannot be read past SQLite in one pass.
    ///
    /// - Parameters:
    ///   - connection: In a transaction such as ``PageReader`` asks for.
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
        let interruption = Interruption(stop)
        defer { interruption.end() }
        var walk = TreeWalk(pages, interruption)
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
