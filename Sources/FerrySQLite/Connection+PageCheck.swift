package import FerryBase

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
    /// - Parameters:
    ///   - schema: The name under which the database is attached.
    ///   - limit: How many findings are enough.
    ///   - walk: A walk over the pages as they are now, where there was one.
    ///   - stop: Ends the walk.
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
