internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel

struct LintCommand: Command {
    enum Form: String, CaseIterable { case text, github, sarif, json }

    static let syntax = Syntax(
        "lint", summary: "Check a model change for losses and for what needs a mapping model, as in CI.",
        discussion:
            "Compares two model versions without a store. An error is a change that loses data: a removed entity or "
            + "property, a property that becomes transient, or a lost order. A warning is a change that needs a mapping "
            + "model. A note is a change that depends on a store's rows. Exits with 1 if there are errors.",
        operands: [
            .init("OLD", "The older version: \(VersionWord.forms)."),
            .init("NEW", "The newer version, in the same form."),
        ],
        options: [
            .choice(
                "--format", "FORM", of: Form.allCases,
                "text (default), github (annotations of GitHub Actions), sarif (code scanning) or json.")
        ],
        example: "ferry lint App.xcdatamodeld:App App.xcdatamodeld:\"App 2\" --format github")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let form = try arguments.choice("--format", among: Form.allCases) ?? .text
        let words = arguments.operands
        let (source, destination) = (try VersionWord(words[0]).version(), try VersionWord(words[1]).version())
        let inferred = InferredMapping.infer(source: source, destination: destination)
        let lint = Lint(from: source.name, to: destination.name, path: destination.path, changes: inferred.changes)
        switch form {
        case .text: console.result(lint.json, text: lint.text)
        case .github: console.result(lint.json, verbatim: lint.github.joined(separator: "\n"))
        case .sarif: console.result(lint.json, verbatim: lint.sarif.pretty)
        case .json: console.result(lint.json, verbatim: lint.json.pretty)
        }
        return lint.findings.contains { $0.level == .error } ? .failed : .success
    }
}
