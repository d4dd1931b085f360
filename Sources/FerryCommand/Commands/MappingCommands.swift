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
        let warnings = rendering.model.warnings.map(\.message) + rendering.losses
        console.result(
            [("mapping", rendering.json), ("warnings", .strings(warnings))], verbatim: rendering.json.pretty)
        if !console.isJSON { for warning in warnings { console.warn(warning) } }
        return .success
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
            let read = mapping.warnings.map(\.message)
            warnings = read
            let (source, destination) = (
                try catalog.version(mapping.sourceVersion, mapping.sourceHashes),
                try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
            )
            let resolution = MappingResolution.resolve(
                source: source, destination: destination, mappingModels: [mapping], policies: known)
            problems = resolution.problems
            let told = resolution.step.warnings.map(\.message) + resolution.needsRowCheck.map(\.problem.message)
            warnings += told.filter { !read.contains($0) }
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
        var text = problems.flatMap { ["\($0.code.name): \($0.message)"] + $0.remedyLines(indent: 2) }
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
