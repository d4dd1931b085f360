package import FerryModel
package import FerrySQLite
package import FerryStore

/// A new, empty store of a model, in a folder of its own that is removed with the builder.
package struct StoreBuilder {
    package let folder: TemporaryFolder
    package let path: String
    package let connection: Connection
    package let layout: StoreLayout
    package let version: ModelVersion

    /// - Parameters:
    ///   - model: The model.
    ///   - maximumKeys: `Z_MAX` by root entity name.
    ///   - hasModelCache: Whether the store has a table for the cached model.
    /// - Throws: The error of the layout or the database.
    package init(
        _ model: ManagedObjectModel, maximumKeys: [String: Int64] = [:], hasModelCache: Bool = true
    ) throws {
        folder = try TemporaryFolder()
        path = folder.file("Store.sqlite")
        connection = try Connection(path: path, mode: .create)
        // Tests damage the stores that they have built.
        connection.allowSchemaWrites()
        layout = try StoreLayout.canonical(for: model)
        version = ModelVersion(of: model)
        try Self.registerCoreDatasFunctions(on: connection)
        try StoreCreation.prepare(connection)
        // The store exists for one test only and need not survive a crash.
        try connection.execute("PRAGMA synchronous = OFF")
        let (layout, version, connection) = (layout, version, connection)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: hasModelCache)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: maximumKeys, on: connection)
            try StoreMetadata.new(for: version, uuid: "11111111-2222-4333-8444-555555555555").write(to: connection)
            for index in layout.indexes { try connection.execute(index.sql) }
            for rTree in layout.rTrees { try connection.execute(rTree.sql) }
            for trigger in layout.allTriggers { try connection.execute(trigger.sql) }
        }
    }

    /// The value of `now()` after ``registerCoreDatasFunctions(on:)``.
    package static let savingTime = 7.5

    /// Registers the functions that triggers of derived attributes call, and that only Core Data has.
    package static func registerCoreDatasFunctions(on connection: Connection) throws {
        for name in [
            "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
        ] {
            try connection.register(name, arguments: 5, deterministic: false, isForSchema: true) { _, result in
                result.setNull()
            }
        }
        try connection.register("NSCoreDataNow", arguments: 0, deterministic: false, isForSchema: true) { _, result in
            result.set(savingTime)
        }
    }

    /// Runs statements on the store.
    package func execute(_ statements: String...) throws {
        for sql in statements { try connection.execute(sql) }
    }
}

extension ModelVersion {
    /// Makes a version from a test's model, with its hashes.
    package init(of model: ManagedObjectModel, name: String = "Model") {
        self.init(
            name: name, bundle: nil, path: "", isCurrent: true, model: model, hashes: VersionHash.hashes(of: model))
    }
}
