internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import Foundation

struct MappingShowCommand: Command {
    static let syntax = Syntax(
        "mapping show", summary: "Shows a mapping model of any format as Ferry's JSON.",
        discussion: "What is printed is a mapping file that does the same, to begin one with or to read what an Xcode "
            + "mapping model says. What that form cannot hold is told on standard error.",
        operands: [.init("FILE", "A mapping model: .xcmappingmodel, .cdm or .json.")],
        example: "ferry mapping show Model1_to_Model2.xcmappingmodel > mapping.json")

    private let path: String

    init(from arguments: Arguments) throws(FerryError) { path = arguments.operand(0) }

    func run(on console: Console) throws -> ExitCode {
        let rendering = MappingRendering(model: try MappingFile.load(path: path))
        let warnings = rendering.model.warnings + rendering.losses
        console.result(
            [("mapping", rendering.json), ("warnings", .strings(warnings))], verbatim: rendering.json.pretty)
        if !console.isJSON { for warning in warnings { console.warn(warning) } }
        return .success
    }
}

struct MappingInitCommand: Command {
    static let syntax = Syntax(
        "mapping init",
        summary: "Makes a mapping file to begin with, for two model versions or for migration policies.",
        discussion: "What Core Data would infer is filled in; properties that follow by their name alone are automatic "
            + "and left out. Where nothing can be inferred, the reason stands after ?? in place of an expression: such a "
            + "file is refused until an expression stands there. Changes that no expression settles are told on standard "
            + "error. With --extends the file takes the place of what a mapping model leaves to migration policies: each "
            + "of their entity mappings with its properties, and ? with the type where something must be said.",
        operands: [
            .init("MODEL", .optional, "The older version: \(VersionWord.forms)."),
            .init("MODEL", .optional, "The newer version, named alike."),
        ],
        options: [
            .value("--extends", "FILE", "A mapping model with migration policies, instead of two versions."),
            .repeated(
                "--models", "PATH",
                "With --extends: model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them."),
            .value("--output", "FILE", "Writes the mapping file there, and tells on standard output what is open."),
        ],
        example: "ferry mapping init App.xcdatamodeld:App App.xcdatamodeld:\"App 2\" > 1-2.json")

    private let words: [String]
    private let extended: String?
    private let models: [String]
    private let output: String?

    init(from arguments: Arguments) throws(FerryError) {
        words = arguments.operands
        extended = arguments.value("--extends")
        models = arguments.values("--models")
        output = arguments.value("--output")
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
        if let extended { return try run(standInFor: extended, on: console) }
        let source = try VersionWord(words[0]).version()
        let destination = try VersionWord(words[1]).version()
        let skeleton = MappingSkeleton(source: source, destination: destination)
        var rendering = MappingRendering(model: skeleton.mappingModel)
        rendering.marks = skeleton.open.flatMap { marks($0, in: destination.model, skeleton.mappingModel) }
        let open = skeleton.open.map { item in
            JSON.object([
                ("entity", .string(item.entity)), ("property", .string(item.property)),
                ("reason", .string(item.reason)),
            ])
        }
        let notes = skeleton.open.map { item in
            "open: \([item.entity, item.property].compactMap { $0 }.joined(separator: ".")): \(item.reason)"
        }
        try show(rendering, open, notes, on: console)
        return .success
    }

    /// A file with the entity mappings of a mapping model that only policies could serve.
    private func run(standInFor path: String, on console: Console) throws -> ExitCode {
        let catalog = try ModelCatalog(paths: models)
        let mapping = try MappingFile.load(path: path)
        let standIn = StandIn(
            for: mapping, source: try catalog.version(mapping.sourceVersion, mapping.sourceHashes),
            destination: try catalog.version(mapping.destinationVersion, mapping.destinationHashes))
        guard !standIn.notes.isEmpty else {
            throw FerryError(
                .badMapping, "\(path) names no migration policy, and all of it can be read.",
                remedy: "Use the mapping model as it is.")
        }
        var model = mapping
        (model.entityMappings, model.partitions) = (standIn.entityMappings, nil)
        var rendering = MappingRendering(model: model)
        rendering.extends = Self.relativePath(of: path, from: output ?? "")
        rendering.marks = standIn.open.map { item in
            MappingRendering.Mark(
                entity: standIn.entityMappings.first { $0.name == item.entityMapping }?.destination ?? "",
                property: item.property, isRelationship: item.isRelationship, text: item.text,
                entityMapping: item.entityMapping)
        }
        let open = standIn.open.map { item in
            JSON.object([
                ("entityMapping", .string(item.entityMapping)), ("property", .string(item.property)),
                ("reason", .string(item.text)),
            ])
        }
        let notes =
            standIn.notes + standIn.open.map { "open: \($0.entityMapping).\($0.property): \($0.text.dropFirst(2))" }
        try show(rendering, open, notes, on: console)
        return .success
    }

    private func show(
        _ rendering: MappingRendering, _ open: [JSON], _ notes: [String], on console: Console
    ) throws(FerryError) {
        let members = [("mapping", rendering.json), ("open", JSON.array(open))]
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

    /// The way from the folder of one file to another file.
    private static func relativePath(of path: String, from file: String) -> String {
        let target = URL(filePath: path).standardizedFileURL.pathComponents
        let folder = URL(filePath: file.isEmpty ? "x" : file).standardizedFileURL.pathComponents.dropLast()
        let shared = zip(target, folder).prefix { $0 == $1 }.count
        return (Array(repeating: "..", count: folder.count - shared) + target[shared...]).joined(separator: "/")
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

struct MappingCheckCommand: PolicyCommand {
    static let syntax = Syntax(
        "mapping check", summary: "Finds what is wrong with a mapping model, before any store is at hand.",
        discussion: "Reads the file and checks every name and expression against both model versions, and the order of "
            + "its entity mappings. Problems give exit 2. What only a store's rows can decide is a warning.",
        operands: [.init("FILE", "A mapping model: .xcmappingmodel, .cdm or .json.")],
        options: [
            .repeated(
                "--models", "PATH",
                "Model versions: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a folder of them. May be repeated.",
                isRequired: true)
        ],
        example: "ferry mapping check mapping.json --models App.xcdatamodeld")

    private let path: String
    private let models: [String]

    init(from arguments: Arguments) throws(FerryError) {
        path = arguments.operand(0)
        models = arguments.values("--models")
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let catalog = try ModelCatalog(paths: models)
        let known = KnownPolicies(registered: policies)
        var warnings: [String] = []
        var problems: [FerryError] = []
        do throws(FerryError) {
            let mapping = try MappingFile.load(path: path)
            warnings = mapping.warnings
            let (source, destination) = (
                try catalog.version(mapping.sourceVersion, mapping.sourceHashes),
                try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
            )
            let resolution = MappingResolution.resolve(
                source: source, destination: destination, mappingModels: [mapping], policies: known)
            problems = resolution.problems
            warnings += resolution.step.warnings + resolution.needsRowCheck.map(\.problem.message)
            if problems.isEmpty {
                let plan = Planner(
                    catalog: ModelCatalog(versions: [source, destination]), mappingModels: [mapping], policies: known
                ).plan(from: source, to: destination, rows: [:], areRowsEstimated: false)
                problems = plan.refusals
            }
        } catch {
            guard error.code != .notFound else { throw error }
            problems = [error]
        }
        show(problems, warnings, on: console)
        return problems.isEmpty ? .success : .refused
    }

    private func show(_ problems: [FerryError], _ warnings: [String], on console: Console) {
        let told = problems.map { problem in
            JSON.object([
                ("code", .string(problem.code.name)), ("place", .string(place(of: problem))),
                ("message", .string(problem.message)), ("remedy", .string(problem.wordedRemedy)),
            ])
        }
        var text = problems.flatMap { problem in
            ["\(problem.code.name): \(problem.message)"] + (problem.remedy.isEmpty ? [] : ["  \(problem.wordedRemedy)"])
        }
        text += warnings.map { "warning: \($0)" }
        text.append(
            problems.isEmpty ? "\(path): no problems." : "\(path): \(Int64(problems.count).counting("problem")).")
        console.result([("problems", .array(told)), ("warnings", .strings(warnings))], text: text)
    }

    private func place(of problem: FerryError) -> String? {
        let property = [problem.place.entity, problem.place.property].compactMap { $0 }.joined(separator: ".")
        let parts = [problem.place.entityMapping, property.isEmpty ? nil : property].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}

extension ModelCatalog {
    /// Compiled mapping models name their versions by hashes alone.
    fileprivate func version(_ name: String, _ hashes: [String: [UInt8]]) throws(FerryError) -> ModelVersion {
        let matching =
            hashes.isEmpty
            ? nil : versions.last { version in hashes.allSatisfy { version.hashes[$0.key] == $0.value } }
        if let matching { return matching }
        return try version(named: name)
    }
}
