internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel

struct LintCommand: PolicyCommand {
    enum Form: String, CaseIterable { case text, github, sarif, json }

    static let syntax = Syntax(
        "lint", summary: "Check a model change for losses and for what needs a mapping model, as in CI.",
        discussion:
            "Compares two model versions without a store. An error is a change that loses data: a removed entity or "
            + "property, a property that becomes transient, or a lost order. A warning is a change that needs a mapping "
            + "model. A note is a change that depends on a store's rows. With --mappings, what the mapping models between the "
            + "two versions carry is no finding, and what they lose is an error. Exits with 1 if there are errors.",
        operands: [
            .init("OLD", "The older version: \(VersionWord.forms)."),
            .init("NEW", "The newer version, in the same form."),
        ],
        options: [
            MigrationInput.mappings,
            .choice(
                "--format", "FORM", of: Form.allCases,
                "text (default), github (annotations of GitHub Actions), sarif (code scanning) or json."),
        ],
        example: "ferry lint App.xcdatamodeld:App App.xcdatamodeld:\"App 2\" --format github")

    let arguments: Arguments

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let form = try arguments.choice("--format", among: Form.allCases) ?? .text
        let words = arguments.operands
        let (source, destination) = (try VersionWord(words[0]).version(), try VersionWord(words[1]).version())
        let mappingModels = try self.mappingModels(from: source, to: destination, on: console)
        // With a conditional expression the error would lose its type.
        let lint: Lint
        if mappingModels.isEmpty {
            lint = try Lint(from: source, to: destination)
        } else {
            lint = try Lint(
                from: source, to: destination, mappingModels: mappingModels,
                policies: KnownPolicies(registered: policies))
        }
        switch form {
        case .text: console.result(lint.json, text: lint.text)
        case .github: console.result(lint.json, verbatim: lint.github.joined(separator: "\n"))
        case .sarif: console.result(lint.json, verbatim: lint.sarif.pretty)
        case .json: console.result(lint.json, verbatim: lint.json.pretty)
        }
        return lint.findings.contains { $0.level == .error } ? .failed : .success
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
