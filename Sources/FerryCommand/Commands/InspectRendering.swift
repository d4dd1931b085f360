internal import FerryStore

/// What `inspect` found, as text and as JSON.
struct InspectRendering {
    let path: String
    let contents: StoreContents
    let size: StoreSize

    var json: [(String, JSON)] {
        var members: [(String, JSON)] = [
            ("store", .string(path)), ("uuid", .string(contents.metadata.uuid)),
            ("version", .string(contents.versions.first)), ("model", .string(contents.model)),
        ]
        if let nearest = contents.nearest {
            members.append(
                (
                    "nearest",
                    .object([("version", .string(nearest.version)), ("differs", .strings(nearest.differs))])
                ))
        }
        let entities = contents.entities.map { entity in
            JSON.object([
                ("name", .string(entity.name)), ("number", .integer(entity.number)), ("table", .string(entity.table)),
                ("rows", .integer(entity.rows)),
            ])
        }
        let problems = contents.damage.map { damage in
            JSON.object([
                ("kind", .string(damage.kind.rawValue)), ("entity", .string(damage.entity)),
                ("property", .string(damage.property)), ("rows", .integer(damage.rows)),
            ])
        }
        members += [
            ("frameworkVersion", .integer(contents.metadata.frameworkVersion)), ("bytes", .integer(size.bytes)),
            ("walBytes", .integer(size.logBytes)), ("externalFiles", .integer(size.externalFiles)),
            ("entities", .array(entities)), ("features", .strings(contents.features)),
            ("unknownTables", .strings(contents.unknownObjects)), ("problems", .array(problems)),
            ("modelCached", .bool(contents.isModelCached)),
        ]
        return members
    }

    var text: [String] {
        var lines = ["Store      \(path)", "UUID       \(contents.metadata.uuid)", "Version    \(version)"]
        if let nearest = contents.nearest {
            lines.append("Nearest    \(nearest.version), which differs in \(nearest.differs.joined(separator: ", "))")
        }
        if let framework = contents.metadata.frameworkVersion { lines.append("Framework  \(framework)") }
        lines.append("Size       \(files)")
        if !contents.features.isEmpty { lines.append("Features   " + contents.features.joined(separator: ", ")) }
        if !contents.unknownObjects.isEmpty {
            lines.append("Unknown    " + contents.unknownObjects.joined(separator: ", "))
        }
        var table = TextTable(["Entity", "Number", "Table", "Rows"], [.left, .right, .left, .right])
        for entity in contents.entities {
            table.add([
                entity.name, "\(entity.number)", entity.table ?? "?", entity.rows.map(Quantity.grouped) ?? "?",
            ])
        }
        lines += [""] + table.lines
        if !contents.damage.isEmpty {
            lines += ["", "Damage"]
            lines += contents.damage.map { damage in
                "  \(damage.kind.rawValue): \(Quantity.grouped(damage.rows)) in "
                    + [damage.entity, damage.property].compactMap { $0 }.joined(separator: ".")
            }
        }
        return lines
    }

    private var version: String {
        if !contents.versions.isEmpty { return contents.versions.joined(separator: ", also called ") }
        return contents.isModelCached ? "that of the model cached in the store" : "none of the models given"
    }

    private var files: String {
        var parts = [Quantity.sizeText(size.bytes)]
        if size.logBytes > 0 { parts.append("\(Quantity.sizeText(size.logBytes)) in the -wal") }
        if size.externalFiles > 0 { parts.append("\(Quantity.grouped(size.externalFiles)) external files") }
        return parts.joined(separator: ", ")
    }
}
