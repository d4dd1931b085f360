internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// The files beside a store that hold its large values.
///
/// Their names are UUIDs: the files of two versions of a store can stand in one folder without touching each other.
struct ExternalFiles {
    /// The store's main file.
    let store: String
    let files: FileLayer

    private var folder: String { ExternalData.folder(forStore: store) }

    /// Puts the files of another folder beside those that are there; nothing is removed or replaced.
    func add(from source: String?) throws {
        guard let source, try files.attributesIfPresent(source)?.isDirectory == true else { return }
        var isNew = false
        try files.forEachEntry(in: source) { entry in
            guard !entry.isDirectory else { return }
            let file = folder + "/" + entry.name
            guard try !files.exists(file) else { return }
            if !isNew { try files.createDirectory(folder) }
            isNew = true
            try files.copy(source + "/" + entry.name, to: file, allowsLink: true)
        }
        if isNew {
            try files.syncFolder(folder)
            try files.syncFolder(FileLayer.parent(of: folder))
            try files.syncFolder(FileLayer.parent(of: store))
        }
    }

    /// Removes the files that no row of the store names.
    ///
    /// Needs no model: every BLOB of the form that names a file counts, whatever column it stands in.
    ///
    /// - Parameter workFolder: A folder for the list of names, which can be as long as the store has rows.
    /// - Throws: ``FerryError``, ``DatabaseError``; what was not removed yet stays.
    func removeUnnamed(workFolder: String) throws {
        guard try files.attributesIfPresent(folder)?.isDirectory == true else { return }
        let list = workFolder + "/external.sqlite"
        for file in StoreFileNames(list).all { try files.removeIfPresent(file) }
        let names = try Connection(path: list, mode: .create)
        // A list that is lost is made again.
        try names.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                + "CREATE TABLE name (name TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID; BEGIN")
        try collectNames(into: names)
        try names.execute("COMMIT")
        let isNamed = try names.prepare("SELECT 1 FROM name WHERE name = ?")
        let folder = folder
        try files.forEachEntry(in: folder) { entry in
            // What has no UUID for its name is not Core Data's.
            guard !entry.isDirectory, ExternalData.isFileName(entry.name) else { return }
            try isNamed.bind(entry.name, at: 1)
            defer { isNamed.reset() }
            if try isNamed.step() { return }
            try files.removeIfPresent(folder + "/" + entry.name)
        }
    }

    /// Hands every name that the store's rows refer to over to a list.
    private func collectNames(into names: Connection) throws {
        let insert = try names.prepare("INSERT OR IGNORE INTO name VALUES (?)")
        let reader = try SourceGuard(path: store, purpose: .reading, files: files)
        do {
            for table in try StoreCatalog(reader.connection).tables {
                for column in table.columns where column.type.uppercased() == "BLOB" {
                    let name = Connection.quoted(column.name)
                    // The length lets SQLite pass over other values without reading them.
                    let rows = try reader.connection.prepare(
                        "SELECT \(name) FROM \(Connection.quoted(table.name)) WHERE length(\(name)) = 38")
                    while try rows.step() {
                        guard let file = rows.withBytes(0, ExternalData.fileName) else { continue }
                        try insert.bind(file, at: 1)
                        try insert.run()
                    }
                }
            }
        } catch {
            reader.release()
            throw error
        }
        try reader.close()
    }
}

extension ExternalData {
    fileprivate static func isFileName(_ name: String) -> Bool {
        name.utf8.count == 36 && reference(to: name).withUnsafeBytes { fileName(in: $0) } != nil
    }
}
