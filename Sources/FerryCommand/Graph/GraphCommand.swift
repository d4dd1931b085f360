internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

struct GraphCommand: Command {
    /// The forms of `--format`.
    enum Form: String, CaseIterable, Sendable {
        case svg, dot

        /// How a file of the form begins.
        var sign: String { self == .svg ? "<!-- ferry graph -->" : "// ferry graph" }
    }

    static let syntax = Syntax(
        "graph", summary: "Draws model versions and mapping models, or the difference of two versions.",
        discussion:
            "Versions stand below each other in their order, with what leads from one to the next: an inferred mapping, or "
            + "none, where changes need a mapping model. Mapping models that are given, or lie beside the models, stand at "
            + "the right. With --from and --to the entities that differ are drawn: added, removed, renamed by renaming "
            + "identifier, and changed, each with its properties and new relationships.\n"
            + "SVG is a picture for browsers and documents, DOT what Graphviz draws.",
        operands: [.init("MODEL", .several, "An .xcdatamodeld, .xcdatamodel, .momd or .mom, or a folder of them.")],
        options: [
            .repeated(
                "--mappings", "PATH",
                "Mapping models: .xcmappingmodel, .cdm, Ferry's JSON, or a folder of them. May be repeated."),
            .value("--from", "VERSION", "The older one of two versions, by name or Bundle/Name."),
            .value("--to", "VERSION", "The newer one."),
            .choice("--format", "FORM", of: Form.allCases, "svg or dot. Default: by the ending of --output, else svg."),
            .value(
                "--output", "FILE.svg",
                "Writes the drawing there instead of to standard output. One of Ferry's is replaced, any other file refused."
            ),
        ],
        example: "ferry graph App.xcdatamodeld --from App --to \"App 2\" --output difference.svg")

    private let models: [String]
    private let mappings: [String]
    private let ends: (from: String, to: String)?
    private let form: Form
    private let output: String?

    init(from arguments: Arguments) throws(FerryError) {
        models = arguments.operands
        mappings = arguments.values("--mappings")
        output = arguments.value("--output")
        let ending = output.flatMap { path in Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") } }
        form = try arguments.choice("--format", among: Form.allCases) ?? ending ?? .svg
        switch (arguments.value("--from"), arguments.value("--to")) {
        case (let from?, let to?): ends = (from, to)
        case (nil, nil): ends = nil
        default: throw arguments.wrong("--from and --to name two versions.", "Give both, or neither.")
        }
        if ends != nil, !mappings.isEmpty {
            throw arguments.wrong("--mappings has no meaning with --from and --to.", "Leave one of the two out.")
        }
    }

    func run(on console: Console) throws -> ExitCode {
        if let output { try ReportFile.check(output, isBegunBy: Form.allCases.map(\.sign)) }
        let catalog = try ModelCatalog(paths: models)
        for version in catalog.unreadable { console.warn(version.error.message) }
        let text: String
        var members: [(String, JSON)]
        if let ends {
            let (source, destination) = (try catalog.version(named: ends.from), try catalog.version(named: ends.to))
            let drawing = DifferenceDrawing(
                from: source, to: destination,
                names: (catalog.displayName(of: source), catalog.displayName(of: destination)))
            text = form == .svg ? drawing.svg : drawing.dot
            members = drawing.json
        } else {
            let drawing = try versions(catalog, on: console)
            text = form == .svg ? drawing.svg : drawing.dot
            members = drawing.json
        }
        members += JSON.members(["format": form.rawValue, "output": output])
        guard let output else {
            console.result(members + JSON.members(["graph": text]), verbatim: text)
            return .success
        }
        try FileLayer().replace(output, with: Array((text + "\n").utf8))
        console.result(members, text: ["Wrote \(output)."])
        return .success
    }

    private func versions(_ catalog: ModelCatalog, on console: Console) throws -> VersionDrawing {
        var given: [MappingModel] = []
        for path in mappings { given += try MappingFile.loadAll(path: path) }
        given = MappingModel.distinct(given)
        let beside = try MappingsBeside(catalog, given: given, files: FileLayer())
        for warning in beside.warnings { console.warn(warning.message) }
        let mappingModels = given + beside.mappingModels
        let catalog = catalog.ordered(along: mappingModels)
        var links: [MappingEdge] = []
        for mappingModel in mappingModels {
            do throws(FerryError) {
                links += try MappingEdge.all(of: [mappingModel], in: catalog)
            } catch {
                console.warn(error.message)
            }
        }
        return VersionDrawing(catalog, links)
    }
}
