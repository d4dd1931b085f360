internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

struct GraphCommand: Command {
    enum Form: String, CaseIterable, Sendable {
        case svg, dot, html

        /// The first bytes of a file of the form.
        var sign: String {
            switch self {
            case .svg: "<!-- ferry graph -->"
            case .dot: "// ferry graph"
            case .html: Page.sign
            }
        }
    }

    static let syntax = Syntax(
        "graph", summary: "Draw model versions and their mappings, or a difference.",
        discussion:
            "Draws the versions in order, with what leads from one to the next: an inferred mapping, or "
            + "nothing where changes need a mapping model. Mapping models that are given, or are next to the models, are on "
            + "the right. With --from and --to, draws the entities that differ: added, removed, renamed by renaming "
            + "identifier, and changed, each with its properties and new relationships.\n"
            + "SVG is for browsers and documents, DOT for Graphviz. HTML is a page with the drawing and its tables, to which "
            + "the boxes lead.",
        operands: [MigrationInput.modelFiles],
        options: [
            MigrationInput.mappings,
            .value("--from", "VERSION", "The older of two versions, by name or Bundle/Name."),
            .value("--to", "VERSION", "The newer version."),
            .choice(
                "--format", "FORM", of: Form.allCases, "svg, dot or html. Default: the ending of --output, else svg."),
            .value(
                "--output", "FILE.svg",
                "Write the drawing to FILE instead of standard output. Only a drawing by Ferry is overwritten."
            ),
        ],
        example: "ferry graph App.xcdatamodeld --from App --to \"App 2\" --output difference.svg")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (mappings, output) = (arguments.values("--mappings"), arguments.value("--output"))
        let ending = output.flatMap { path in Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") } }
        let form = try arguments.choice("--format", among: Form.allCases) ?? ending ?? .svg
        let ends = [arguments.value("--from"), arguments.value("--to")].compactMap { $0 }
        guard ends.count != 1 else {
            throw arguments.wrong("--from and --to name two versions.", "Give both, or neither.")
        }
        if !ends.isEmpty, !mappings.isEmpty {
            throw arguments.wrong("--mappings has no effect with --from and --to.", "Leave one of the two out.")
        }
        if let output { try ReportFile.check(output, signs: Form.allCases.map(\.sign)) }
        let catalog = try ModelCatalog(models: ModelWord.sources(arguments.operands))
        for version in catalog.unreadable { console.warn(version.error.message) }
        let text: String
        var report: JSON
        if ends.isEmpty {
            let drawing = try versions(catalog, mappings, on: console)
            text = Self.text(form, drawing.svg, drawing.dot, GraphPage(drawing).text)
            report = drawing.json
        } else {
            let (source, destination) = (try catalog.version(named: ends[0]), try catalog.version(named: ends[1]))
            let drawing = DifferenceDrawing(
                from: source, to: destination,
                names: (catalog.displayName(of: source), catalog.displayName(of: destination)))
            text = Self.text(form, drawing.svg, drawing.dot, GraphPage(drawing).text)
            report = drawing.json
        }
        report += ["format": form.rawValue, "output": output]
        guard let output else {
            console.result(report + ["graph": text], verbatim: text)
            return .success
        }
        try FileLayer().replace(output, with: Array((text + "\n").utf8))
        console.result(report, text: ["Wrote \(output)."])
        return .success
    }

    private static func text(
        _ form: Form, _ svg: @autoclosure () -> String, _ dot: @autoclosure () -> String,
        _ page: @autoclosure () -> String
    ) -> String {
        switch form {
        case .svg: svg()
        case .dot: dot()
        case .html: page()
        }
    }

    private func versions(
        _ catalog: ModelCatalog, _ mappings: [String], on console: Console
    ) throws -> VersionDrawing {
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
