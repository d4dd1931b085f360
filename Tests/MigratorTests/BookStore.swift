import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport

/// An app's folder in tests: `App.xcdatamodeld`, and `App.sqlite` of its version "App 1", which only has books.
extension TemporaryFolder {
    /// Writes one version of the model.
    func writeVersion(_ name: String, _ entities: String) throws {
        try FileLayer().createDirectory(file("App.xcdatamodeld/\(name).xcdatamodel"))
        try FileLayer().replace(
            file("App.xcdatamodeld/\(name).xcdatamodel/contents"),
            with: Array(
                """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
                userDefinedModelVersionIdentifier="">\(entities)</model>
                """.utf8))
    }

    func appVersion(_ name: String) throws -> ModelVersion {
        try ModelCatalog(paths: [file("App.xcdatamodeld")]).version(named: name)
    }

    /// Makes the store.
    ///
    /// - Parameters:
    ///   - rows: The number of books; their keys begin with 1.
    ///   - form: The journal mode and the state of the files.
    ///   - uuid: The store's UUID.
    ///   - hasModelCache: Whether the store has a table for the cached model.
    ///   - more: Statements that add rows of other entities.
    ///   - columns: The columns of a book's values.
    ///   - values: Returns the values of the book with a key.
    /// - Throws: The error of SQLite.
    func makeBooks(
        rows: Int64, form: TinyStore.Form, uuid: String, hasModelCache: Bool, more: [String] = [], columns: [String],
        _ values: (Int64) -> [Value]
    ) throws {
        let version = try appVersion("App 1")
        let connection = try Connection(path: file("App.sqlite"), mode: .create)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("PRAGMA synchronous = OFF")
        try StoreCreation.prepare(connection)
        if form != .plain { try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") }
        let layout = try StoreLayout.canonical(for: version.model)
        let names = (["Z_PK", "Z_ENT", "Z_OPT"] + columns).joined(separator: ", ")
        let parameters = String(repeating: ", ?", count: columns.count)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: hasModelCache)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": rows], on: connection)
            try StoreMetadata.new(for: version, uuid: uuid).write(to: connection)
            for key in 1...rows {
                try connection.run(
                    "INSERT INTO ZBOOK (\(names)) VALUES (?, 1, 1\(parameters))", [.integer(key)] + values(key))
            }
            for statement in more { try connection.execute(statement) }
        }
        if form == .closedLog { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    }
}
