internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

struct InspectCommand: Command {
    static let name = "inspect"

    /// Bytes; reading a store of this size takes well below a second.
    private static let smallBytes: Int64 = 64 << 20

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        if arguments.has("--hashes") || ModelWord.isModel(arguments.operands[0]) {
            let catalog = try ModelCatalog(models: ModelWord.sources(arguments.operands))
            let hashes = HashesRendering(catalog: catalog)
            console.result(hashes.json, text: hashes.text(width:))
            for version in catalog.unreadable { console.warn(version.error.message) }
            return .success
        }
        let (path, models) = (arguments.store.filePath, try arguments.models)
        let catalog = models.isEmpty ? ModelCatalog(versions: []) : try ModelCatalog(models: models)
        // The sizes are read before SQLite opens the store, which may create a -wal and a -shm.
        let size = try FileLayer().exists(path) ? StoreSize(path) : nil
        let rendering = try StoreFiles(arguments.store).read { connection in
            let size = try size ?? StoreSize(path)
            let isFull = arguments.has("--full") || size.bytes + size.logBytes <= Self.smallBytes
            return InspectRendering(
                path: path, contents: try StoreContents(connection, catalog: catalog, isFull: isFull), size: size,
                hasModels: !models.isEmpty)
        }
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}

struct InspectRendering {
    let path: String
    let contents: StoreContents
    let size: StoreSize
    let hasModels: Bool

    private var inspection: StoreInspection? { contents.inspection }
    private var leftovers: (tables: [String], columns: [String]) {
        (inspection?.objects.leftoverTables ?? [], inspection?.deadColumns.map(\.name) ?? [])
    }

    var json: JSON {
        let (metadata, objects) = (contents.metadata, inspection?.objects)
        let version: JSON = [
            "store": path, "uuid": metadata.uuid, "version": contents.versions.first, "model": contents.model,
        ]
        let nearest = contents.nearest.map { nearest -> JSON in
            let reasons = JSON.list(nearest.reasons) {
                ["entity": $0.entity, "property": $0.property, "reason": $0.text]
            }
            return ["version": nearest.version, "differs": nearest.differs, "reasons": reasons]
        }
        return version + (nearest.map { ["nearest": $0] } ?? [:]) + [
            "frameworkVersion": metadata.frameworkVersion, "bytes": size.bytes, "walBytes": size.logBytes,
            "externalFiles": size.externalFiles,
            "entities": JSON.list(contents.entities) {
                [
                    "name": $0.name, "number": $0.number, "table": $0.table, "rows": $0.rows,
                    "estimated": $0.isEstimated, "bytes": $0.bytes,
                ]
            },
            "features": inspection?.features ?? [], "unknownTables": objects?.unknownObjects ?? [],
            "problems": JSON.list(contents.problems) {
                [
                    "kind": $0.kind, "entity": $0.entity, "property": $0.property, "rows": $0.rows,
                    "message": $0.message,
                ]
            },
            "modelCached": contents.isModelCached, "look": contents.isFull ? "full" : "quick",
            "versionIdentifiers": metadata.versionIdentifiers,
            "joinTables": JSON.list(inspection?.joinTables ?? []) {
                ["table": $0.table, "rows": $0.rows, "estimated": $0.isEstimated, "bytes": contents.bytes(of: $0)]
            },
            "sideFiles": JSON.list(size.sideFiles) { ["path": $0.path, "bytes": $0.bytes] },
            "externalBytes": size.externalBytes, "historyTables": objects?.historyTables ?? [],
            "cloudKitTables": objects?.cloudKitTables ?? [],
            "leftovers": ["tables": leftovers.tables, "columns": leftovers.columns] as JSON,
        ]
    }

    func text(width: Int) -> [String] {
        var lines = ["Store      \(path)", "UUID       \(contents.metadata.uuid)", "Version    \(version)"]
        if let nearest = contents.nearest {
            lines.append("Nearest    \(nearest.version), which differs in \(nearest.differs.joined(separator: ", "))")
            lines += nearest.reasons.map { "           \(placeName($0.entity, $0.property)): \($0.text)" }
        }
        if let framework = contents.metadata.frameworkVersion { lines.append("Framework  \(framework)") }
        lines.append("Size       \(files)")
        let words = Template.messages.lines("features").map { $0.split(separator: ": ").map(String.init) }
        let lists = [
            ("Features   ", inspection?.features.map { name in words.first { $0[0] == name }?[1] ?? name }),
            ("History    ", inspection?.objects.historyTables),
            ("CloudKit   ", inspection?.objects.cloudKitTables),
            ("Unknown    ", inspection?.objects.unknownObjects),
            ("Leftovers  ", leftovers.tables + leftovers.columns),
        ]
        for case (let label, let names?) in lists where !names.isEmpty {
            lines.append(label + names.joined(separator: ", "))
        }
        lines += [""] + tables(width: width)
        if !contents.problems.isEmpty {
            lines += ["", "Problems"]
            lines += contents.problems.map { problem in
                let rows = "\((problem.rows ?? 0).grouped) in \(placeName(problem.entity, problem.property))"
                return "  \(problem.kind): \(problem.message ?? rows)"
            }
        }
        if !contents.isFull {
            lines += [
                "", "Sampled only: rows are estimated, and damage was not looked for. Use --full to read all of it.",
            ]
        }
        return lines
    }

    private func tables(width: Int) -> [String] {
        func numbers(_ rows: Int64?, _ isEstimated: Bool, _ bytes: Int64?) -> [String] {
            [Quantity.rowsText(rows, isEstimated: isEstimated), bytes.map(\.bytesInUnits) ?? ""]
        }
        let entities = contents.entities.map {
            [$0.name, "\($0.number)", $0.table ?? "?"] + numbers($0.rows, $0.isEstimated, $0.bytes)
        }
        let joins = (inspection?.joinTables ?? []).map {
            ["", "", $0.table] + numbers($0.rows, $0.isEstimated, contents.bytes(of: $0))
        }
        var columns: [TableColumn] = [.name("Entity"), .number("Number"), .name("Table"), .number("Rows")]
        // Bytes are counted of small stores only.
        if !(entities + joins).allSatisfy({ $0.last == "" }) { columns.append(.number("Bytes")) }
        return TextTable(columns, (entities + joins).map { Array($0.prefix(columns.count)) }).lines(width: width)
    }

    private var version: String {
        if !contents.versions.isEmpty { return contents.versions.joined(separator: ", also called ") }
        let named = contents.metadata.versionIdentifiers.filter { !$0.isEmpty }
        let cached = "the model cached in the store" + (named.isEmpty ? "" : ", \(named.joined(separator: ", "))")
        guard hasModels else {
            return contents.isModelCached
                ? cached : "unknown: no model was given (--models), and the store contains none"
        }
        return "none of the given models"
            + (contents.nearest == nil ? ": no version of them has an entity in common with the store" : "")
            + (contents.isModelCached ? "; \(cached) is used" : "")
    }

    private var files: String {
        var parts = [size.bytes.bytesInUnits]
        if size.logBytes > 0 { parts.append("\(size.logBytes.bytesInUnits) in the -wal") }
        if size.externalFiles > 0 {
            parts.append(
                "\(size.externalFiles.counting("external file")) of \(size.externalBytes.bytesInUnits)")
        }
        return parts.joined(separator: ", ")
    }
}

struct StoreContents {
    /// Damage in rows, or the message for a part of the store that cannot be read.
    struct Problem {
        var kind: String
        var entity: String?
        var property: String?
        var rows: Int64?
        var message: String?
    }

    let metadata: StoreMetadata
    /// Whether every row and page is read; else rows are estimated.
    let isFull: Bool
    /// The names of all versions with the store's hashes, the last version first.
    let versions: [String]
    /// The path of the model; nil if the model comes from the store's cache, or is unknown.
    let model: String?
    private(set) var isModelCached = false
    private(set) var nearest: (version: String, differs: [String], reasons: [StructuralReasons.Reason])?
    /// Nil without a model that fits the store's tables.
    private(set) var inspection: StoreInspection?
    private(set) var entities: [StoredEntity] = []
    private(set) var problems: [Problem] = []
    /// Nil if the pages are not measured.
    private var sizes: TableSizes?

    /// Finds the store's version in the catalog; with `isFull` also counts rows, measures pages and scans for damage.
    ///
    /// - Throws: ``FerryError`` if the metadata cannot be read; other damage is among the problems.
    init(_ connection: Connection, catalog: ModelCatalog, isFull: Bool) throws {
        metadata = try StoreMetadata.read(from: connection)
        self.isFull = isFull
        let catalog = catalog.fitted(to: metadata.hashes)
        let matching = catalog.versions(matching: metadata.hashes).reversed()
        versions = matching.map { catalog.displayName(of: $0) }
        model = matching.first?.path
        do {
            let cached = try cachedModel(connection)
            isModelCached = cached != nil
            if matching.isEmpty, let near = catalog.nearest(to: metadata.hashes) {
                let found = try StructuralReasons(
                    of: near.differs, comparedWith: near.version.model, own: cached, on: connection)
                nearest = (catalog.displayName(of: near.version), near.differs, found.reasons)
            }
            if let known = matching.first?.model ?? cached { try inspect(connection, as: known) }
            entities =
                try inspection?.entities ?? StoredEntity.all(on: connection, counting: isFull ? .exact : .estimated)
            if isFull { try measure(connection) }
        } catch let error as DatabaseError where error.isCorrupt {
            let message = "SQLite cannot read part of the file: \(error.message). PRAGMA integrity_check shows more."
            problems.append(Problem(kind: "corruptDatabase", message: message))
        }
    }

    /// The model in the store's cache, if its hashes are the store's.
    private mutating func cachedModel(_ connection: Connection) throws -> ManagedObjectModel? {
        var message = "The model cached in the store is not the one it was written with."
        do {
            guard let model = try ModelCache.model(in: connection) else { return nil }
            if VersionHash.hashes(of: model) == metadata.hashes { return model }
        } catch let error as FerryError {
            message = error.message
        }
        problems.append(Problem(kind: "modelCache", message: message))
        return nil
    }

    private mutating func inspect(_ connection: Connection, as model: ManagedObjectModel) throws {
        let layout: StoreLayout
        do {
            layout = try StoreLayout.actual(for: model, on: connection)
        } catch let error as FerryError where error.code == .damagedSource {
            let (entity, property) = (error.place.entity, error.place.property)
            return problems.append(Problem(kind: "layout", entity: entity, property: property, message: error.message))
        }
        inspection = try StoreInspection(of: layout, on: connection, counting: isFull ? .exact : .estimated)
        guard isFull else { return }
        let damage =
            try StoreDamage.scan(layout, on: connection)
            + StoreDamage.missingFiles(in: layout, of: connection.path, on: connection, files: FileLayer())
        problems += damage.map {
            Problem(kind: $0.kind.rawValue, entity: $0.entity, property: $0.property, rows: $0.rows)
        }
    }

    private mutating func measure(_ connection: Connection) throws {
        sizes = try TableSizes(connection)
        var seen: Set<String> = []
        for index in entities.indices {
            guard let table = entities[index].table, seen.insert(table).inserted else { continue }
            entities[index].bytes = sizes?.bytes(of: table)
        }
    }

    func bytes(of join: StoreInspection.JoinRows) -> Int64? { sizes?.bytes(of: join.table) }
}

struct StoreSize {
    let bytes: Int64
    let logBytes: Int64
    /// The `-wal`, `-shm` and `-journal` that exist.
    let sideFiles: [(path: String, bytes: Int64)]
    let externalFiles: Int64
    let externalBytes: Int64

    init(_ store: String) throws {
        let (files, names) = (FileLayer(), StoreFileNames(store))
        bytes = try files.attributes(store).size
        sideFiles = try [names.log, names.index, names.journal].compactMap { path in
            try files.attributesIfPresent(path).map { (path, $0.size) }
        }
        logBytes = sideFiles.first { $0.path == names.log }?.bytes ?? 0
        (externalFiles, externalBytes) = try ExternalData.size(ofStore: store, files: files)
    }
}

struct HashesRendering {
    let catalog: ModelCatalog

    var json: JSON { ["versions": JSON.list(catalog.versions) { json($0, named: catalog.displayName(of: $0)) }] }

    func text(width: Int) -> [String] {
        catalog.versions.flatMap { text($0, named: catalog.displayName(of: $0), width: width) }
    }

    private func json(_ version: ModelVersion, named name: String) -> JSON {
        let hashes = version.hashes.inOrder { codeUnitOrder($0.key, $1.key) }
            .map { ($0.key, JSON.string(VersionHash.base64($0.value))) }
        return [
            "name": name, "bundle": version.bundle, "path": version.path, "current": version.isCurrent,
            "entities": JSON.object(hashes), "digest": VersionHash.digest(version.hashes),
            "checksum": VersionHash.checksum(version.hashes), "differsFromModel": differing(version),
        ]
    }

    private func text(_ version: ModelVersion, named name: String, width: Int) -> [String] {
        let differing = Set(differing(version))
        let entities = Set(version.model.entities.keys).union(version.hashes.keys).inOrder(by: codeUnitOrder)
        let rows = entities.map { entity in
            let mark = differing.contains(entity) ? "differs from the compiled model" : ""
            return [entity, version.hashes[entity].map(VersionHash.base64) ?? "–", mark]
        }
        let table = TextTable([.text("Entity"), .text("Version hash"), .text("")], rows)
        return ["\(name)\(version.isCurrent ? " (current)" : "")  \(version.path)"] + table.lines(width: width)
            + [
                "  digest    \(VersionHash.digest(version.hashes))",
                "  checksum  \(VersionHash.checksum(version.hashes))", "",
            ]
    }

    /// The entities whose hash in `VersionInfo.plist` differs from the hash computed from the model.
    private func differing(_ version: ModelVersion) -> [String] {
        let computed = VersionHash.hashes(of: version.model)
        return Set(computed.keys).union(version.hashes.keys)
            .filter { computed[$0] != version.hashes[$0] }.inOrder(by: codeUnitOrder)
    }
}
