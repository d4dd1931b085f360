extension Connection {
    /// The prefixes of `quick_check`'s findings about values, in all versions of SQLite.
    ///
    /// Such findings are about constraints, types of values, and search indexes: pages and rows are sound then.
    private static let prefixesOfValueFindings = [
        "NULL value in ", "CHECK constraint failed in ", "NUMERIC value in ", "TEXT value in ", "non-",
        "missing value ", "unable to validate ", "malformed inverted index ", "wrong # of entries in ", "row ",
    ]

    /// Checks the pages of the database by `quick_check`: b-trees, overflow pages, free pages, and the order of the keys.
    ///
    /// With `tables`, only their pages and those of their indexes, the schema and the freelist. A stop request
    /// interrupts the check inside ``abandoning(on:_:)``.
    ///
    /// - Returns: The damage in SQLite's words: pages and cells, no values. Empty for a sound file.
    package func damagedPages(only tables: Set<String>? = nil) throws(DatabaseError) -> [String] {
        // At most 100 findings: each row may have one about values, but those about pages come first.
        guard let tables else { return try damagedPages("100") }
        var found: [String] = []
        for table in ["sqlite_master"] + tables.sorted() { found += try damagedPages(Connection.quoted(table)) }
        return found
    }

    private func damagedPages(_ subject: String) throws(DatabaseError) -> [String] {
        let statement = try prepare("PRAGMA main.quick_check(\(subject))")
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
