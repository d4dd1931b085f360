internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import Foundation

struct MappingInitCommand: Command {
    static let name = "mapping init"

    let arguments: Arguments

    private var output: String? { arguments.value("--output") }

    func run(on console: Console) throws -> ExitCode {
        try check()
        if let extended = arguments.value("--extends") {
            let files = try StandInFiles(extended, models: arguments.values("--models"), output: output)
            if let ferry = arguments.value("--swift") {
                try files.writePackage(ferry: ferry, on: console)
            } else {
                try show(files.file(), files.notes, on: console)
            }
            return .success
        }
        // As plan names them: a device's store has another file's name than the one at hand.
        let versions = ModelCatalog.withStoresNamed(try arguments.operands.map { try VersionWord($0).version() })
        let (source, destination) = (versions[0], versions[1])
        guard source.hashes != destination.hashes else {
            throw FerryError(
                .badMapping, "Both versions have the same version hashes: there is nothing to map.",
                remedy: "Name two different versions.")
        }
        let skeleton = MappingSkeleton(source: source, destination: destination)
        var rendering = MappingRendering(model: skeleton.mappingModel)
        for word in arguments.values("--unique") { try merge(word, in: &rendering.model, destination.model) }
        rendering.places = skeleton.open.map {
            .init(
                entityMapping: $0.entityMapping, entity: $0.entity, property: $0.property,
                isRelationship: $0.isRelationship, isMark: $0.property != nil, text: $0.text)
        }
        try show(rendering, skeleton.notes.map(\.sentence), on: console)
        return .success
    }

    /// Gives the entity mappings of `ENTITY=ATTRIBUTES` the attributes as their `unique`.
    private func merge(
        _ word: String, in mappingModel: inout MappingModel, _ model: ManagedObjectModel
    ) throws(FerryError) {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        let names = parts.last?.split(separator: ",").map(String.init) ?? []
        guard parts.count == 2, !names.isEmpty else {
            throw arguments.wrong(
                "--unique \(word) does not name attributes.", "Write --unique ENTITY=ATTRIBUTE,ATTRIBUTE.")
        }
        let merged = mappingModel.entityMappings.indices.filter { index in
            let mapping = mappingModel.entityMappings[index]
            return mapping.destination.map { model.isKind($0, of: parts[0]) } ?? false
        }
        guard !merged.isEmpty else {
            throw arguments.wrong(
                "\(parts[0]) gets no objects from the older version (--unique).",
                "Name an entity of the newer version.")
        }
        if let unknown = names.first(where: { model.attribute($0, of: parts[0]) == nil }) {
            throw arguments.wrong("\(parts[0]) has no attribute \"\(unknown)\".", "Correct the value of --unique.")
        }
        for index in merged {
            mappingModel.entityMappings[index].unique = names
            mappingModel.entityMappings[index].nilIsEqual = false
        }
    }

    private func check() throws(FerryError) {
        if let output { try WritePlace().check(output) }
        let (isExtending, isPackage) = (arguments.value("--extends") != nil, arguments.value("--swift") != nil)
        let (words, models) = (arguments.operands, arguments.values("--models"))
        if isPackage, !isExtending || output == nil {
            throw arguments.wrong("--swift creates a package for a mapping model.", "Give --extends and --output.")
        }
        if isPackage, let named = models.first(where: { ModelWord.split($0).name != nil }) {
            throw arguments.wrong("--swift takes no name for a store's version: \(named).", "Give the store alone.")
        }
        if isExtending, !words.isEmpty || models.isEmpty {
            throw arguments.wrong("--extends takes the versions from --models.", "Give --models and no MODEL.")
        }
        if !isExtending, words.count != 2 {
            throw arguments.wrong("MODEL is missing.", "Name two versions, or --extends.")
        }
        if isExtending, !arguments.values("--unique").isEmpty {
            throw arguments.wrong("--unique has no effect with --extends.")
        }
        if !isExtending, !models.isEmpty { throw arguments.wrong("--models has no effect without --extends.") }
    }

    private func show(_ rendering: MappingRendering, _ notes: [String], on console: Console) throws(FerryError) {
        let report: JSON = ["mapping": rendering.json, "open": rendering.places.map(\.json)]
        if let output {
            let files = FileLayer()
            try files.checkIsFree(output, for: "file")
            try files.replace(output, with: Array((rendering.json.pretty + "\n").utf8))
            let count = rendering.places.count
            console.result(report, text: ["\(output): \(count) \(count == 1 ? "place is" : "places are") open."])
        } else {
            console.result(report, verbatim: rendering.json.pretty)
        }
        if console.isJSON { return }
        for note in notes + rendering.places.map(\.note) { console.note("ferry: \(note)") }
    }
}

/// The files of `mapping init --extends` for a mapping model with migration policies: a mapping file, or a package.
struct StandInFiles {
    private let path: String
    private let models: [String]
    private let output: String
    private let mapping: MappingModel
    private let source: ModelVersion
    private let destination: ModelVersion
    private let standIn: StandIn

    init(_ path: String, models: [String], output: String?) throws(FerryError) {
        (self.path, self.models, self.output) = (path, models, output ?? "")
        let catalog = try ModelCatalog(models: ModelWord.sources(models))
        mapping = try MappingFile.load(path: path)
        source = try catalog.version(mapping.sourceVersion, mapping.sourceHashes)
        destination = try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
        standIn = StandIn(for: mapping, source: source, destination: destination)
        guard !standIn.parts.isEmpty else {
            throw FerryError(
                .badMapping, "\(path) has no migration policies, and all of it can be read.",
                remedy: "Use the mapping model as it is.")
        }
    }

    var notes: [String] { standIn.notes }

    func file() -> MappingRendering {
        var model = mapping
        (model.entityMappings, model.partitions) = (standIn.parts.compactMap(\.replacement), nil)
        var rendering = MappingRendering(model: model)
        rendering.extends = Self.relativePath(of: path, from: output)
        for part in standIn.parts {
            guard let made = part.replacement else { continue }
            rendering.notes[made.name] = part.properties.map { "\($0.name): \($0.type)" }
            func place(_ property: String, _ text: String) -> MappingRendering.Place {
                // A question mark is in front of each.
                .init(entityMapping: made.name, property: property, isMark: false, text: String(text.dropFirst(2)))
            }
            if let source = made.source, part.isUnfilled { rendering.places.append(place("source", source)) }
            rendering.places += part.properties.filter(\.isOpen).map {
                var place = place($0.name, $0.openText)
                (place.isMark, place.isRelationship) = (true, $0.destinationEntity != nil)
                return place
            }
            if let policy = made.policyClassName { rendering.places.append(place("policy", policy)) }
        }
        return rendering
    }

    func writePackage(ferry: String, on console: Console) throws(FerryError) {
        func fromPackage(_ path: String) -> String { Self.relativePath(of: path, from: "\(output)/Package.swift") }
        let package = PolicyPackage(
            name: FileLayer.name(of: URL(filePath: output).standardizedFileURL.path), mapping: mapping,
            standIn: standIn, ferry: try FerryDependency(ferry, from: fromPackage),
            mappingModel: fromPackage(path), models: models.map(fromPackage),
            sourceModel: fromPackage(source.path), target: destination.qualifiedName)
        let files = FileLayer()
        try files.checkIsFree(output, for: "folder")
        for file in package.files {
            let path = "\(output)/\(file.path)"
            try files.createDirectory(FileLayer.parent(of: path))
            try files.replace(path, with: Array(file.text.utf8))
        }
        let (fileCount, openCount) = (Int64(package.files.count), Int64(package.openCount))
        console.result(
            [
                "package": output, "files": package.files.map(\.path), "policies": package.classNames,
                "open": openCount,
            ],
            text: [
                "\(output): \(fileCount.counting("file")), \(openCount.counting("place")) to write.",
                "Build and test:",
                Emphasis.command.mark("  swift test --package-path \(ShellWord.quoted(output))"),
            ])
        if !console.isJSON { for note in standIn.notes { console.note("ferry: \(note)") } }
    }

    private static func relativePath(of path: String, from file: String) -> String {
        let target = URL(filePath: path).standardizedFileURL.pathComponents
        let folder = URL(filePath: file.isEmpty ? "x" : file).standardizedFileURL.pathComponents.dropLast()
        let shared = zip(target, folder).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: folder.count - shared) + target[shared...]
        return steps.isEmpty ? "." : steps.joined(separator: "/")
    }
}

extension ModelCatalog {
    /// Finds a version by its hashes, else by its name: compiled mapping models have only hashes.
    func version(_ name: String, _ hashes: [String: [UInt8]]) throws(FerryError) -> ModelVersion {
        let matching =
            hashes.isEmpty
            ? nil : versions.last { version in hashes.allSatisfy { version.hashes[$0.key] == $0.value } }
        if let matching { return matching }
        return try version(named: name)
    }
}
