internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

struct InspectCommand: Command {
    static let syntax = Syntax(
        "inspect", summary: "Tells what a store is and what is in it; touches nothing.",
        discussion: "Version, entities with their rows and bytes, features of the layout, side files, history and "
            + "CloudKit tables, objects that are not Core Data's, what earlier versions left, and damage. Without "
            + "--models the model cached in the store is taken, if there is one. Where no version fits, the nearest one "
            + "is named with the entities that differ, and why.\n"
            + "A store above 64 MiB is only looked at, which takes a moment whatever its size: rows are estimated (~), "
            + "bytes of tables and damage are left out. --full reads it all.",
        operands: [MigrationInput.store],
        options: [
            .repeated(
                "--models", "PATH",
                "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated."),
            .flag("--full", "Count every row, measure every table and look for damage, whatever the store's size."),
            ConfigFile.option,
        ], example: "ferry inspect App.sqlite --models App.xcdatamodeld")

    /// Reading this much takes well below a second.
    private static let smallBytes: Int64 = 64 << 20

    private let store: FileURL
    private let models: [String]
    private let isFull: Bool

    init(from arguments: Arguments) throws(FerryError) {
        store = arguments.operand(0).fileURL
        models = arguments.values("--models")
        isFull = arguments.has("--full")
    }

    func run(on console: Console) throws -> ExitCode {
        let catalog = models.isEmpty ? ModelCatalog(versions: []) : try ModelCatalog(paths: models)
        // Before SQLite opens the store: what is there now is the store's, not this command's.
        let size = try FileLayer().exists(store.filePath) ? StoreSize(store.filePath) : nil
        let rendering = try StoreFiles(store).read { connection in
            let size = try size ?? StoreSize(store.filePath)
            let isSmall = size.bytes + size.logBytes <= InspectCommand.smallBytes
            return try InspectRendering(
                path: store.filePath,
                contents: StoreContents(connection, catalog: catalog, isFull: isFull || isSmall), size: size,
                hasModels: !models.isEmpty)
        }
        console.result(rendering.json, text: rendering.text(width:))
        return .success
    }
}

/// What `inspect` found, as text and as JSON.
struct InspectRendering {
    let path: String
    let contents: StoreContents
    let size: StoreSize
    /// Whether models were given to look for the store's version among.
    let hasModels: Bool

    // MARK: JSON

    var json: [(String, JSON)] {
        var members: [(String, JSON)] = JSON.members([
            "store": path, "uuid": contents.metadata.uuid, "version": contents.versions.first,
            "model": contents.model,
        ])
        if let nearest = contents.nearest { members.append(("nearest", json(nearest))) }
        let objects = contents.objects
        members += JSON.members([
            "frameworkVersion": contents.metadata.frameworkVersion, "bytes": size.bytes, "walBytes": size.logBytes,
            "externalFiles": size.externalFiles, "entities": contents.entities.map(json),
            "features": contents.features, "unknownTables": objects?.unknownObjects ?? [],
            "problems": contents.problems.map(json), "modelCached": contents.isModelCached,
            "look": contents.isFull ? "full" : "quick", "versionIdentifiers": contents.metadata.versionIdentifiers,
            "joinTables": contents.joinTables.map(json),
            "sideFiles": JSON.array(size.sideFiles.map { .object(["path": $0.path, "bytes": $0.bytes]) }),
            "externalBytes": size.externalBytes, "historyTables": objects?.historyTables ?? [],
            "cloudKitTables": objects?.cloudKitTables ?? [],
            "leftovers": JSON.object([
                "tables": objects?.leftoverTables ?? [],
                "columns": contents.deadColumns.map(\.name),
            ]),
        ])
        return members
    }

    private func json(_ nearest: StoreContents.Nearest) -> JSON {
        let reasons = nearest.reasons.map { reason in
            JSON.object(["entity": reason.entity, "property": reason.property, "reason": reason.text])
        }
        return .object(["version": nearest.version, "differs": nearest.differs, "reasons": reasons])
    }

    private func json(_ entity: StoreContents.EntityRows) -> JSON {
        .object([
            "name": entity.name, "number": entity.number, "table": entity.table, "rows": entity.rows,
            "estimated": entity.isEstimated, "bytes": entity.bytes,
        ])
    }

    private func json(_ table: StoreContents.JoinRows) -> JSON {
        .object([
            "table": table.table, "rows": table.rows, "estimated": table.isEstimated, "bytes": table.bytes,
        ])
    }

    private func json(_ problem: StoreContents.Problem) -> JSON {
        .object([
            "kind": problem.kind, "entity": problem.entity, "property": problem.property, "rows": problem.rows,
            "message": problem.message,
        ])
    }

    // MARK: Text

    private static let features = [
        "manyToMany": "many-to-many relationships", "orderedRelationships": "ordered relationships",
        "inverselessRelationships": "relationships without an inverse", "externalStorage": "external binary data",
        "transformable": "transformable attributes", "composite": "composite attributes",
        "derivedAttributes": "derived attributes", "uniqueness": "uniqueness constraints",
        "fetchIndexes": "fetch indexes", "rTree": "R-tree indexes", "history": "persistent history",
        "cloudKit": "CloudKit", "modelCache": "model cache",
    ]

    func text(width: Int) -> [String] {
        var lines = ["Store      \(path)", "UUID       \(contents.metadata.uuid)", "Version    \(version)"]
        if let nearest = contents.nearest { lines += text(nearest) }
        if let framework = contents.metadata.frameworkVersion { lines.append("Framework  \(framework)") }
        lines.append("Size       \(files)")
        let lists = [
            ("Features   ", contents.features.map { Self.features[$0] ?? $0 }),
            ("History    ", contents.objects?.historyTables ?? []),
            ("CloudKit   ", contents.objects?.cloudKitTables ?? []),
            ("Unknown    ", contents.objects?.unknownObjects ?? []),
            (
                "Leftovers  ",
                (contents.objects?.leftoverTables ?? []) + contents.deadColumns.map(\.name)
            ),
        ]
        for (label, names) in lists where !names.isEmpty { lines.append(label + names.joined(separator: ", ")) }
        lines += [""] + tables(width: width)
        if !contents.problems.isEmpty { lines += ["", "Problems"] + contents.problems.map { "  " + text($0) } }
        if !contents.isFull {
            lines += ["", "Looked at only: rows are estimated, damage was not looked for. --full reads it all."]
        }
        return lines
    }

    private func tables(width: Int) -> [String] {
        var table = TextTable(
            ["Entity", "Number", "Table", "Rows", "Bytes"], [.left, .right, .left, .right, .right])
        for entity in contents.entities {
            table.add([
                entity.name, "\(entity.number)", entity.table ?? "?", rows(entity.rows, entity.isEstimated),
                entity.bytes.map(Quantity.sizeText) ?? "",
            ])
        }
        for join in contents.joinTables {
            table.add([
                "", "", join.table, rows(join.rows, join.isEstimated), join.bytes.map(Quantity.sizeText) ?? "",
            ])
        }
        return table.lines(width: width)
    }

    private func rows(_ count: Int64?, _ isEstimated: Bool) -> String {
        count.map { (isEstimated ? "~" : "") + Quantity.grouped($0) } ?? "?"
    }

    private func text(_ nearest: StoreContents.Nearest) -> [String] {
        ["Nearest    \(nearest.version), which differs in \(nearest.differs.joined(separator: ", "))"]
            + nearest.reasons.map { reason in
                "           " + [reason.entity, reason.property].compactMap { $0 }.joined(separator: ".")
                    + ": \(reason.text)"
            }
    }

    private func text(_ problem: StoreContents.Problem) -> String {
        let place = [problem.entity, problem.property].compactMap { $0 }.joined(separator: ".")
        if let message = problem.message { return "\(problem.kind): \(message)" }
        return "\(problem.kind): \(Quantity.grouped(problem.rows ?? 0)) in \(place)"
    }

    private var version: String {
        if !contents.versions.isEmpty { return contents.versions.joined(separator: ", also called ") }
        if contents.isModelCached { return "that of the model cached in the store" }
        return hasModels
            ? "none of the models given" : "unknown: no model was given (--models), and the store holds none"
    }

    private var files: String {
        var parts = [Quantity.sizeText(size.bytes)]
        if size.logBytes > 0 { parts.append("\(Quantity.sizeText(size.logBytes)) in the -wal") }
        if size.externalFiles > 0 {
            parts.append(
                "\(size.externalFiles.counting("external file")) of \(Quantity.sizeText(size.externalBytes))")
        }
        return parts.joined(separator: ", ")
    }
}
