package import FerryModel
package import FerrySQLite
package import FerryStore

/// A new, empty store of a model, in a folder of its own that goes with the builder.
package struct StoreBuilder {
    package let folder: TemporaryFolder
    package let path: String
    package let connection: Connection
    package let layout: StoreLayout
    package let version: ModelVersion

    /// - Parameters:
    ///   - model: The model.
    ///   - maximumKeys: Root entity name to `Z_MAX`.
    ///   - hasModelCache: Whether there is a table for the cached model.
    /// - Throws: What the layout or the database throws.
    package init(
        _ model: ManagedObjectModel, maximumKeys: [String: Int64] = [:], hasModelCache: Bool = true
    ) throws {
        folder = try TemporaryFolder()
        path = folder.file("Store.sqlite")
        connection = try Connection(path: path, mode: .create)
        // Tests damage what they have built.
        connection.allowSchemaWrites()
        layout = try StoreLayout.canonical(for: model)
        version = ModelVersion(of: model)
        try Self.registerCoreDatasFunctions(on: connection)
        try StoreCreation.prepare(connection)
        // Made once and thrown away: nothing here must survive a crash.
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

    /// The time that ``registerCoreDatasFunctions(on:)`` gives to `now()`.
    package static let savingTime = 7.5

    /// The functions that triggers of derived attributes call, and only Core Data has.
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
    /// A version of a model that a test made, with its hashes.
    package init(of model: ManagedObjectModel, name: String = "Model") {
        self.init(
            name: name, bundle: nil, path: "", isCurrent: true, model: model, hashes: VersionHash.hashes(of: model))
    }
}
