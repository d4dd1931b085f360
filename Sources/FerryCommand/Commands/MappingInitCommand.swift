internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import Foundation

struct MappingInitCommand: Command {
    static let syntax = Syntax(
        "mapping init",
        summary: "Makes a mapping file to begin with, for two model versions or for migration policies.",
        discussion: "What Core Data would infer is filled in; properties that follow by their name alone are automatic "
            + "and left out. Where nothing can be inferred, the reason stands after ?? in place of an expression: such a "
            + "file is refused until an expression stands there. Changes that no expression settles are told on standard "
            + "error. With --extends the file takes the place of what a mapping model leaves to migration policies: each "
            + "of their entity mappings with its properties, and ? with the type where something must be said. With "
            + "--swift a package is written instead: a struct for each policy class with the hooks to be written, and a "
            + "test that migrates a generated store.",
        operands: [
            .init("MODEL", .optional, "The older version: \(VersionWord.forms)."),
            .init("MODEL", .optional, "The newer version, named alike."),
        ],
        options: [
            .value("--extends", "FILE", "A mapping model with migration policies, instead of two versions."),
            .repeated(
                "--models", "PATH",
                "With --extends: model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them."),
            .flag("--swift", "With --extends: writes a Swift package into the folder that --output names."),
            .value(
                "--ferry", "PATH|URL",
                "With --swift: the package of Ferry that it depends on. Default: the one that this program was built in."
            ),
            .value("--output", "FILE", "Writes the mapping file there, and tells on standard output what is open."),
        ],
        example: "ferry mapping init App.xcdatamodeld:App App.xcdatamodeld:\"App 2\" > 1-2.json")

    private let words: [String]
    private let extended: String?
    private let models: [String]
    private let output: String?
    private let isPackage: Bool
    private let ferry: String?

    init(from arguments: Arguments) throws(FerryError) {
        words = arguments.operands
        extended = arguments.value("--extends")
        models = arguments.values("--models")
        output = arguments.value("--output")
        isPackage = arguments.has("--swift")
        ferry = arguments.value("--ferry")
        if ferry != nil, !isPackage { throw arguments.wrong("--ferry has no meaning without --swift.") }
        if isPackage, extended == nil || output == nil {
            throw arguments.wrong("--swift writes a package for a mapping model.", "Give --extends and --output.")
        }
        if extended != nil {
            guard words.isEmpty, !models.isEmpty else {
                throw arguments.wrong("--extends takes the versions from --models.", "Give --models and no MODEL.")
            }
        } else {
            guard words.count == 2 else {
                throw arguments.wrong("MODEL is missing.", "Name two versions, or --extends.")
            }
            guard models.isEmpty else { throw arguments.wrong("--models has no meaning without --extends.") }
        }
    }

    func run(on console: Console) throws -> ExitCode {
        if let extended {
            let begun = StandInFiles(mappingModel: extended, models: models, output: output)
            if isPackage {
                try begun.writePackage(ferry: ferry, on: console)
            } else {
                let file = try begun.file()
                try show(file.rendering, file.open, file.notes, on: console)
            }
            return .success
        }
        let source = try VersionWord(words[0]).version()
        let destination = try VersionWord(words[1]).version()
        let skeleton = MappingSkeleton(source: source, destination: destination)
        var rendering = MappingRendering(model: skeleton.mappingModel)
        rendering.marks = skeleton.open.flatMap { marks($0, in: destination.model, skeleton.mappingModel) }
        let open = skeleton.open.map { item in
            JSON.object(["entity": item.entity, "property": item.property, "reason": item.reason])
        }
        let notes = skeleton.open.map { item in
            "open: \([item.entity, item.property].compactMap { $0 }.joined(separator: ".")): \(item.reason)"
        }
        try show(rendering, open, notes, on: console)
        return .success
    }

    private func show(
        _ rendering: MappingRendering, _ open: [JSON], _ notes: [String], on console: Console
    ) throws(FerryError) {
        let members = JSON.members(["mapping": rendering.json, "open": JSON.array(open)])
        if let output {
            let files = FileLayer()
            guard try !files.exists(output) else {
                throw FerryError(
                    .outputExists, "\(output) exists already.", remedy: "Name another file, or move that one away.")
            }
            try files.replace(output, with: Array((rendering.json.pretty + "\n").utf8))
            let places = "\(open.count) \(open.count == 1 ? "place is" : "places are") open"
            console.result(members, text: ["\(output): \(places)."])
        } else {
            console.result(members, verbatim: rendering.json.pretty)
        }
        if !console.isJSON { for note in notes { console.note("ferry: \(note)") } }
    }

    /// The property is marked in the mappings of its entity and of those below it.
    private func marks(
        _ open: MappingSkeleton.Open, in model: ManagedObjectModel, _ mappingModel: MappingModel
    ) -> [MappingRendering.Mark] {
        guard let property = open.property else { return [] }
        let isRelationship = model.relationship(property, of: open.entity) != nil
        guard isRelationship || model.attribute(property, of: open.entity) != nil else { return [] }
        return mappingModel.entityMappings.compactMap(\.destination).filter { model.isKind($0, of: open.entity) }
            .map {
                MappingRendering.Mark(
                    entity: $0, property: property, isRelationship: isRelationship, text: "?? \(open.reason)")
            }
    }
}

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
                "entityMapping": place.entityMapping, "property": place.property, "reason": place.text,
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
            JSON.members([
                "package": folder, "files": package.files.map(\.path), "policies": package.classNames,
                "open": package.openCount,
            ]),
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
