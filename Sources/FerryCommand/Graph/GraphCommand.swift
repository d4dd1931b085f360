internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

struct GraphCommand: Command {
    enum Form: String, CaseIterable, Sendable {
        case svg, dot

        var sign: String { self == .svg ? "<!-- ferry graph -->" : "// ferry graph" }
    }

    static let name = "graph"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let output = arguments.value("--output")
        let ending = output.flatMap { path in Form.allCases.first { path.lowercased().hasSuffix(".\($0.rawValue)") } }
        let form = try arguments.choice("--format") ?? ending ?? .svg
        let (from, to) = (arguments.value("--from"), arguments.value("--to"))
        if from != nil, to == nil {
            throw arguments.wrong("--from names the older of two versions.", "Add --to with the newer one.")
        }
        if to != nil, !arguments.values("--mappings").isEmpty {
            throw arguments.wrong("--mappings has no effect with --to.", "Leave one of the two out.")
        }
        if let output { try ReportFile.check(output, signs: Form.allCases.map(\.sign)) }
        let catalog = try ModelCatalog(models: ModelWord.sources(arguments.operands))
        for version in catalog.unreadable { console.warn(version.error.message) }
        var (report, drawing) = try graph(catalog, from: from, to: to, on: console)
        let text = form == .svg ? drawing.svg : drawing.dot
        report += ["format": form.rawValue, "output": output]
        guard let output else {
            console.result(report + ["graph": text], verbatim: text)
            return .success
        }
        try FileLayer().replace(output, with: Array((text + "\n").utf8))
        console.result(report, text: ["Wrote \(output)."])
        return .success
    }

    private func graph(
        _ catalog: ModelCatalog, from: String?, to: String?, on console: Console
    ) throws -> (JSON, BoxDrawing) {
        let only = catalog.versions.count == 1 ? catalog.versions.first : nil
        guard let version = try to.map({ try catalog.version(named: $0) }) ?? only else {
            let graph = try versions(catalog, on: console)
            return (graph.json, graph.drawing)
        }
        let (old, name) = (try from.map { try catalog.version(named: $0) }, catalog.displayName(of: version))
        let graph =
            old.map {
                EntityGraph(from: $0.model, to: version.model, named: (catalog.displayName(of: $0), name))
            } ?? EntityGraph(version.model, named: name)
        return (graph.json, graph.drawing)
    }

    private func versions(_ catalog: ModelCatalog, on console: Console) throws -> VersionGraph {
        let given = try arguments.mappingModels
        let beside = try MappingsBeside(catalog, given: given, files: FileLayer())
        let mappingModels = given + beside.mappingModels
        let catalog = catalog.ordered(along: mappingModels)
        var links: [MappingEdge] = []
        for mappingModel in mappingModels {
            do throws(FerryError) {
                links += try MappingEdge.all(of: [mappingModel], in: catalog)
            } catch {
                // Another app's mapping models may be next to the models.
                if given.contains(where: { $0.path == mappingModel.path }) { console.warn(error.message) }
            }
        }
        return VersionGraph(catalog, links)
    }
}
