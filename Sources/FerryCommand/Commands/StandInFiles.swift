internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import Foundation

/// What `mapping init --extends` writes for a mapping model with migration policies: a mapping file, or a package.
struct StandInFiles {
    let mappingModel: String
    let models: [String]
    let output: String?

    /// A file with the entity mappings that only policies could serve.
    func file() throws(FerryError) -> (rendering: MappingRendering, open: [JSON], notes: [String]) {
        let (mapping, standIn, _, _) = try read()
        var model = mapping
        (model.entityMappings, model.partitions) = (standIn.parts.compactMap(\.replacement), nil)
        var rendering = MappingRendering(model: model)
        rendering.extends = Self.relativePath(of: mappingModel, from: output ?? "")
        var places: [(entityMapping: String, property: String, text: String)] = []
        for part in standIn.parts {
            guard let replacement = part.replacement else { continue }
            rendering.notes[replacement.name] = part.properties.map { "\($0.name): \($0.type)" }
            for property in part.properties where property.isOpen {
                rendering.marks.append(
                    MappingRendering.Mark(
                        entity: replacement.destination ?? "", property: property.name,
                        isRelationship: property.destinationEntity != nil, text: property.openText,
                        entityMapping: replacement.name))
            }
            if let source = replacement.source, part.isUnfilled { places.append((replacement.name, "source", source)) }
            places += part.properties.filter(\.isOpen).map { (replacement.name, $0.name, $0.openText) }
            if let policy = replacement.policyClassName { places.append((replacement.name, "policy", policy)) }
        }
        let open = places.map { place in
            JSON.object([
                ("entityMapping", .string(place.entityMapping)), ("property", .string(place.property)),
                ("reason", .string(place.text)),
            ])
        }
        let notes = places.map { "open: \($0.entityMapping).\($0.property): \($0.text.dropFirst(2))" }
        return (rendering, open, standIn.notes + notes)
    }

    /// A package with the policies' hooks.
    func writePackage(ferry: String?, on console: Console) throws(FerryError) {
        let (mapping, standIn, source, destination) = try read()
        let folder = output ?? ""
        func fromPackage(_ path: String) -> String { Self.relativePath(of: path, from: "\(folder)/Package.swift") }
        let dependency =
            if let ferry { try FerryDependency(ferry, from: fromPackage) } else {
                try FerryDependency.ofThisProgram(from: fromPackage)
            }
        let package = PolicyPackage(
            name: FileLayer.name(of: URL(filePath: folder).standardizedFileURL.path), mapping: mapping,
            standIn: standIn,
            ferry: dependency,
            mappingModel: fromPackage(mappingModel), models: models.map(fromPackage),
            sourceModel: fromPackage(source.path), target: destination.qualifiedName)
        let files = FileLayer()
        guard try !files.exists(folder) else {
            throw FerryError(
                .outputExists, "\(folder) exists already.", remedy: "Name another folder, or move that one away.")
        }
        for file in package.files {
            let path = "\(folder)/\(file.path)"
            try createFolders(for: path, files)
            try files.replace(path, with: Array(file.text.utf8))
        }
        console.result(
            [
                ("package", .string(folder)), ("files", .strings(package.files.map(\.path))),
                ("policies", .strings(package.classNames)), ("open", .integer(package.openCount)),
            ],
            text: [
                "\(folder): \(Int64(package.files.count).counting("file")), \(Int64(package.openCount).counting("place")) to be written.",
                "Build and test:",
                Emphasis.command.mark("  swift test --package-path \(ShellWord.quoted(folder))"),
            ])
        if !console.isJSON { for note in standIn.notes { console.note("ferry: \(note)") } }
    }

    private func createFolders(for path: String, _ files: FileLayer) throws(FerryError) {
        let folder = FileLayer.parent(of: path)
        guard folder != path, try !files.exists(folder) else { return }
        try createFolders(for: folder, files)
        try files.createDirectory(folder)
    }

    private func read() throws(FerryError) -> (MappingModel, StandIn, ModelVersion, ModelVersion) {
        let catalog = try ModelCatalog(paths: models)
        let mapping = try MappingFile.load(path: mappingModel)
        let source = try catalog.version(mapping.sourceVersion, mapping.sourceHashes)
        let destination = try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
        let standIn = StandIn(for: mapping, source: source, destination: destination)
        guard !standIn.parts.isEmpty else {
            throw FerryError(
                .badMapping, "\(mappingModel) names no migration policy, and all of it can be read.",
                remedy: "Use the mapping model as it is.")
        }
        return (mapping, standIn, source, destination)
    }

    /// The way from the folder of one file to another file.
    private static func relativePath(of path: String, from file: String) -> String {
        let target = URL(filePath: path).standardizedFileURL.pathComponents
        let folder = URL(filePath: file.isEmpty ? "x" : file).standardizedFileURL.pathComponents.dropLast()
        let shared = zip(target, folder).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: folder.count - shared) + target[shared...]
        return steps.isEmpty ? "." : steps.joined(separator: "/")
    }
}

extension ModelCatalog {
    /// Compiled mapping models name their versions by hashes alone.
    func version(_ name: String, _ hashes: [String: [UInt8]]) throws(FerryError) -> ModelVersion {
        let matching =
            hashes.isEmpty
            ? nil : versions.last { version in hashes.allSatisfy { version.hashes[$0.key] == $0.value } }
        if let matching { return matching }
        return try version(named: name)
    }
}
