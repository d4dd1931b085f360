internal import FerryModel
package import FerrySQLite

/// The names of the external files that a store's rows have, in a database of their own: there may be as many as rows.
package struct ExternalNames {
    private let search: Statement

    /// Opens a list.
    package init(at path: String) throws {
        search = try Connection(path: path, mode: .readOnly).prepare("SELECT 1 FROM name WHERE name = ?")
    }

    package func contain(_ name: String) throws -> Bool {
        try search.bind(name, at: 1)
        defer { search.reset() }
        return try search.step()
    }

    /// Writes the list of a store into an empty file.
    ///
    /// Needs no model: every BLOB with the form of a file reference counts, in any column.
    package static func write(of store: Connection, to path: String) throws {
        let names = try Connection(path: path, mode: .create)
        // An unfinished list is made again, so that it needs no journal.
        try names.keepNoJournal()
        try names.execute("CREATE TABLE name (name TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID; BEGIN")
        let insert = try names.prepare("INSERT OR IGNORE INTO name VALUES (?)")
        for table in try StoreCatalog(store).tables {
            for column in table.columns where column.type.uppercased() == "BLOB" {
                try ExternalData.forEachReference(in: column.name, of: table.name, on: store) { file in
                    try insert.bind(file, at: 1)
                    try insert.run()
                }
            }
        }
        try names.execute("COMMIT")
    }
}
