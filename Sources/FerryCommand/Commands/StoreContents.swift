internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// What `inspect` finds in a store.
struct StoreContents {
    struct EntityRows {
        var name: String
        var number: Int64
        /// Nil where no model says, and the usual name leads to no table.
        var table: String?
        var rows: Int64?
    }

    let metadata: StoreMetadata
    /// The names of all versions with the store's hashes; the last one first.
    private(set) var versions: [String] = []
    /// Where the model was read; nil when the store's own cache gave it, or nothing did.
    private(set) var model: String?
    private(set) var isModelCached = false
    private(set) var nearest: (version: String, differs: [String])?
    private(set) var entities: [EntityRows] = []
    private(set) var features: [String] = []
    private(set) var unknownObjects: [String] = []
    private(set) var damage: [StoreDamage] = []

    init(_ connection: Connection, catalog: ModelCatalog) throws {
        metadata = try StoreMetadata.read(from: connection)
        let catalog = try catalog.fitted(to: metadata.hashes, target: nil)
        let matching = catalog.versions(matching: metadata.hashes).reversed()
        versions = matching.map { catalog.displayName(of: $0) }
        model = matching.first?.path
        if matching.isEmpty, let near = catalog.nearest(to: metadata.hashes) {
            nearest = (catalog.displayName(of: near.version), near.differs)
        }
        if let known = try matching.first?.model ?? cachedModel(connection) {
            try look(through: connection, as: known)
        } else {
            try count(connection)
        }
    }

    /// The model in the store's cache, if it is the one that the store was written with.
    private mutating func cachedModel(_ connection: Connection) throws -> ManagedObjectModel? {
        guard let model = try ModelCache.model(in: connection), VersionHash.hashes(of: model) == metadata.hashes else {
            return nil
        }
        isModelCached = true
        return model
    }

    private mutating func look(through connection: Connection, as model: ManagedObjectModel) throws {
        let layout = try StoreLayout.actual(for: model, on: connection)
        let inspection = try StoreInspection(of: layout, on: connection)
        entities = inspection.entities.map {
            EntityRows(name: $0.entity, number: $0.number, table: $0.table, rows: $0.rows)
        }
        features = inspection.features
        unknownObjects = inspection.objects.unknownObjects
        damage = try StoreDamage.scan(layout, on: connection)
        damage += try StoreDamage.missingFiles(
            in: layout, of: connection.path, on: connection, files: FileLayer())
    }

    /// Without a model: what the store's own table of entities says, and the tables that are named as usual.
    private mutating func count(_ connection: Connection) throws {
        let catalog = try StoreCatalog(connection)
        let rows = try connection.rows("SELECT Z_NAME, Z_ENT, Z_SUPER FROM Z_PRIMARYKEY ORDER BY Z_ENT")
        var parents: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        for row in rows {
            guard let name = row[0].text, let number = row[1].integer else { continue }
            names[number] = name
            if let parent = row[2].integer, parent > 0 { parents[number] = parent }
        }
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var root = number
            while let parent = parents[root], parent < root { root = parent }
            let table = names[root].flatMap { catalog.table("Z" + $0.uppercased()) }?.name
            let count = try table.flatMap {
                try connection.integer(
                    "SELECT count(*) FROM \(Connection.quoted($0)) WHERE Z_ENT = ?", [.integer(number)])
            }
            entities.append(EntityRows(name: name, number: number, table: table, rows: count))
        }
    }
}

/// How large a store's files are.
struct StoreSize {
    let bytes: Int64
    let logBytes: Int64
    let externalFiles: Int64

    init(_ store: String) throws {
        let files = FileLayer()
        bytes = try files.attributes(store).size
        logBytes = try files.attributesIfPresent(store + "-wal")?.size ?? 0
        var count: Int64 = 0
        try ExternalData.forEachFile(ofStore: store, files: files) { _ in count += 1 }
        externalFiles = count
    }
}
