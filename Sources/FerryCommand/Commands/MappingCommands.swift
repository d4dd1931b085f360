internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

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
            [("mapping", rendering.json), ("warnings", .strings(warnings))], text: [rendering.json.pretty])
        if !console.isJSON { for warning in warnings { console.note("ferry: warning: \(warning)") } }
        return .success
    }
}

struct MappingInitCommand: Command {
    static let syntax = Syntax(
        "mapping init", summary: "Makes a mapping file to begin with, for two model versions.",
        discussion: "What Core Data would infer is filled in; properties that follow by their name alone are automatic "
            + "and left out. Where nothing can be inferred, the reason stands after ?? in place of an expression: such a "
            + "file is refused until an expression stands there. Changes that no expression settles are told on standard "
            + "error.",
        operands: [
            .init("MODEL", "The older version: \(VersionWord.forms)."),
            .init("MODEL", "The newer version, named alike."),
        ],
        example: "ferry mapping init App.xcdatamodeld:App App.xcdatamodeld:\"App 2\" > 1-2.json")

    private let words: [String]

    init(from arguments: Arguments) throws(FerryError) { words = arguments.operands }

    func run(on console: Console) throws -> ExitCode {
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
        console.result(
            [("mapping", rendering.json), ("open", .array(open))], text: [rendering.json.pretty])
        if !console.isJSON {
            for item in skeleton.open {
                let place = [item.entity, item.property].compactMap { $0 }.joined(separator: ".")
                console.note("ferry: open: \(place): \(item.reason)")
            }
        }
        return .success
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
                try version(mapping.sourceVersion, mapping.sourceHashes, in: catalog),
                try version(mapping.destinationVersion, mapping.destinationHashes, in: catalog)
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

    /// Compiled mapping models name their versions by hashes alone.
    private func version(
        _ name: String, _ hashes: [String: [UInt8]], in catalog: ModelCatalog
    ) throws(FerryError) -> ModelVersion {
        let matching =
            hashes.isEmpty
            ? nil : catalog.versions.last { version in hashes.allSatisfy { version.hashes[$0.key] == $0.value } }
        if let matching { return matching }
        return try catalog.version(named: name)
    }

    private func show(_ problems: [FerryError], _ warnings: [String], on console: Console) {
        let told = problems.map { problem in
            JSON.object([
                ("code", .string(problem.code.name)), ("place", .string(place(of: problem))),
                ("message", .string(problem.message)), ("remedy", .string(problem.remedy)),
            ])
        }
        var text = problems.flatMap { problem in
            ["\(problem.code.name): \(problem.message)"] + (problem.remedy.isEmpty ? [] : ["  \(problem.remedy)"])
        }
        text += warnings.map { "warning: \($0)" }
        text.append(problems.isEmpty ? "\(path): no problems." : "\(path): \(problems.count) problems.")
        console.result([("problems", .array(told)), ("warnings", .strings(warnings))], text: text)
    }

    private func place(of problem: FerryError) -> String? {
        let property = [problem.place.entity, problem.place.property].compactMap { $0 }.joined(separator: ".")
        let parts = [problem.place.entityMapping, property.isEmpty ? nil : property].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}
