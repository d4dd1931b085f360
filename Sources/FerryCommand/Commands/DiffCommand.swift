internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel

struct DiffCommand: PolicyCommand {
    enum Form: String, CaseIterable { case text, github, sarif, json }

    static let name = "diff"

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let form = try arguments.choice("--format", among: Form.allCases) ?? .text
        let words = arguments.operands
        let (source, destination) = (try VersionWord(words[0]).version(), try VersionWord(words[1]).version())
        let difference = try Difference(
            from: source, to: destination, mappingModels: mappingModels(from: source, to: destination, on: console),
            policies: KnownPolicies(registered: policies))
        switch form {
        case .text: console.result(difference.json, text: difference.text)
        case .github: console.result(difference.json, verbatim: difference.github.joined(separator: "\n"))
        case .sarif: console.result(difference.json, verbatim: difference.sarif.pretty)
        case .json: console.result(difference.json, verbatim: difference.json.asResult)
        }
        let isDestructive = difference.findings.contains { $0.level == .error }
        return arguments.has("--check") && isDestructive ? .failed : .success
    }

    /// The given mapping models that lead from one version to the other.
    private func mappingModels(
        from source: ModelVersion, to destination: ModelVersion, on console: Console
    ) throws -> [MappingModel] {
        let both = ModelCatalog(versions: [source, destination])
        var given: [MappingModel] = []
        for path in arguments.values("--mappings") { given += try MappingFile.loadAll(path: path) }
        var leading: [MappingModel] = []
        for model in MappingModel.distinct(given) {
            do throws(FerryError) {
                let start = try both.version(model.sourceVersion, model.sourceHashes)
                let end = try both.version(model.destinationVersion, model.destinationHashes)
                if start.hashes == source.hashes, end.hashes == destination.hashes { leading.append(model) }
            } catch {
                // Another mapping model of the app leads between other versions.
                guard error.code == .noSuchVersion else { throw error }
            }
        }
        if leading.isEmpty, !given.isEmpty {
            console.warn("None of the mapping models leads from \(source.name) to \(destination.name).")
        }
        return leading
    }
}
