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
        var isEstimated: Bool
        /// Of the whole table with its indexes; nil for subentities, which share their root's, and where not measured.
        var bytes: Int64?
    }

    struct JoinRows {
        var table: String
        var rows: Int64
        var isEstimated: Bool
        var bytes: Int64?
    }

    /// Something wrong: damage in rows, or a message of what could not be read.
    struct Problem {
        var kind: String
        var entity: String?
        var property: String?
        var rows: Int64?
        var message: String?
    }

    struct Nearest {
        var version: String
        var differs: [String]
        var reasons: [StructuralReasons.Reason]
    }

    let metadata: StoreMetadata
    /// Whether everything was read, or only as much as an estimate needs.
    let isFull: Bool
    /// The names of all versions with the store's hashes; the last one first.
    private(set) var versions: [String] = []
    /// Where the model was read; nil when the store's own cache gave it, or nothing did.
    private(set) var model: String?
    private(set) var isModelCached = false
    private(set) var nearest: Nearest?
    private(set) var entities: [EntityRows] = []
    private(set) var joinTables: [JoinRows] = []
    private(set) var features: [String] = []
    private(set) var objects: StoreObjects?
    private(set) var deadColumns: [Leftover] = []
    private(set) var problems: [Problem] = []

    /// - Parameters:
    ///   - connection: A connection that sees one state of the store.
    ///   - catalog: The versions to look for the store's among.
    ///   - isFull: Whether rows are counted, pages measured and damage looked for, however long that takes.
    /// - Throws: ``FerryError`` when the metadata cannot be read; other damage is among the problems.
    init(_ connection: Connection, catalog: ModelCatalog, isFull: Bool) throws {
        metadata = try StoreMetadata.read(from: connection)
        self.isFull = isFull
        let catalog = catalog.fitted(to: metadata.hashes)
        let matching = catalog.versions(matching: metadata.hashes).reversed()
        versions = matching.map { catalog.displayName(of: $0) }
        model = matching.first?.path
        do {
            let cached = try cachedModel(connection)
            if matching.isEmpty { try findNearest(in: catalog, own: cached, connection) }
            isModelCached = cached != nil
            if let known = matching.first?.model ?? cached {
                try look(through: connection, as: known)
            } else {
                try count(connection)
            }
            if isFull { try measure(connection) }
        } catch let error as DatabaseError where error.isCorrupt {
            problems.append(
                Problem(
                    kind: "corruptDatabase",
                    message:
                        "SQLite cannot read a part of the file: \(error.message). PRAGMA integrity_check tells more."
                ))
        }
    }

    /// The model in the store's cache, if it is the one that the store was written with.
    private mutating func cachedModel(_ connection: Connection) throws -> ManagedObjectModel? {
        do {
            guard let model = try ModelCache.model(in: connection) else { return nil }
            if VersionHash.hashes(of: model) == metadata.hashes { return model }
            problems.append(
                Problem(
                    kind: "modelCache", message: "The model cached in the store is not the one it was written with."))
        } catch let error as FerryError {
            problems.append(Problem(kind: "modelCache", message: error.message))
        }
        return nil
    }

    private mutating func findNearest(
        in catalog: ModelCatalog, own: ManagedObjectModel?, _ connection: Connection
    ) throws {
        guard let near = catalog.nearest(to: metadata.hashes) else { return }
        let reasons = try StructuralReasons(
            of: near.differs, comparedWith: near.version.model, own: own, on: connection)
        nearest = Nearest(
            version: catalog.displayName(of: near.version), differs: near.differs, reasons: reasons.reasons)
    }

    private mutating func look(through connection: Connection, as model: ManagedObjectModel) throws {
        let layout: StoreLayout
        do {
            layout = try StoreLayout.actual(for: model, on: connection)
        } catch let error as FerryError where error.code == .damagedSource {
            problems.append(
                Problem(
                    kind: "layout", entity: error.place.entity, property: error.place.property, message: error.message))
            return try count(connection)
        }
        let inspection = try StoreInspection(of: layout, on: connection, counting: isFull ? .exact : .estimated)
        entities = inspection.entities.map {
            EntityRows(
                name: $0.entity, number: $0.number, table: $0.table, rows: $0.rows, isEstimated: $0.isEstimated)
        }
        joinTables = inspection.joinTables.map {
            JoinRows(table: $0.table, rows: $0.rows, isEstimated: $0.isEstimated)
        }
        features = inspection.features
        objects = inspection.objects
        deadColumns = inspection.deadColumns
        guard isFull else { return }
        let damage =
            try StoreDamage.scan(layout, on: connection)
            + StoreDamage.missingFiles(in: layout, of: connection.path, on: connection, files: FileLayer())
        problems += damage.map {
            Problem(kind: $0.kind.rawValue, entity: $0.entity, property: $0.property, rows: $0.rows)
        }
    }

    private mutating func count(_ connection: Connection) throws {
        entities = try StoredEntity.all(on: connection, counting: isFull ? .exact : .estimated).map {
            EntityRows(name: $0.name, number: $0.number, table: $0.table, rows: $0.rows, isEstimated: $0.isEstimated)
        }
    }

    private mutating func measure(_ connection: Connection) throws {
        guard let sizes = try TableSizes(connection) else { return }
        var seen: Set<String> = []
        for index in entities.indices {
            guard let table = entities[index].table, seen.insert(table).inserted else { continue }
            entities[index].bytes = sizes.bytes(of: table)
        }
        for index in joinTables.indices { joinTables[index].bytes = sizes.bytes(of: joinTables[index].table) }
    }
}

/// How large a store's files are.
struct StoreSize {
    struct SideFile {
        var path: String
        var bytes: Int64
    }

    let bytes: Int64
    let logBytes: Int64
    /// `-wal`, `-shm` and `-journal`, as far as they are there.
    let sideFiles: [SideFile]
    let externalFiles: Int64
    let externalBytes: Int64

    init(_ store: String) throws {
        let files = FileLayer()
        let names = StoreFileNames(store)
        bytes = try files.attributes(store).size
        var sideFiles: [SideFile] = []
        for path in [names.log, names.index, names.journal] {
            if let attributes = try files.attributesIfPresent(path) {
                sideFiles.append(SideFile(path: path, bytes: attributes.size))
            }
        }
        self.sideFiles = sideFiles
        logBytes = sideFiles.first { $0.path == names.log }?.bytes ?? 0
        (externalFiles, externalBytes) = try ExternalData.size(ofStore: store, files: files)
    }
}
