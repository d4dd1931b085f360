import FerryModel
import FerrySQLite
import FerryStore
import TestSupport

/// A new, empty store of a model in a folder of its own.
struct StoreBuilder {
    let folder: TemporaryFolder
    let path: String
    let connection: Connection
    let layout: StoreLayout
    let version: ModelVersion

    init(_ model: ManagedObjectModel, maximumKeys: [String: Int64] = [:], hasModelCache: Bool = true) throws {
        folder = try TemporaryFolder()
        path = folder.file("Store.sqlite")
        connection = try Connection(path: path, mode: .create)
        layout = try StoreLayout.canonical(for: model)
        version = ModelVersion(
            name: "Model", bundle: nil, path: "", isCurrent: true, model: model, hashes: VersionHash.hashes(of: model))
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: hasModelCache)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: maximumKeys, on: connection)
        try StoreMetadata.new(for: version, uuid: "11111111-2222-4333-8444-555555555555").write(to: connection)
        for index in layout.indexes { try StoreCreation.create(index, on: connection) }
    }

    func execute(_ statements: String...) throws {
        for sql in statements { try connection.execute(sql) }
    }
}
