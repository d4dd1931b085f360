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

/// The findings about the changes between two model versions.
struct Lint {
    enum Level: String { case error, warning, note }

    struct Finding {
        var level: Level
        var rule: String
        var place: String
        var message: String
    }

    let from: String
    let to: String
    /// The file of the newer version.
    let path: String
    let findings: [Finding]

    init(from: String, to: String, path: String, changes: [InferredMapping.Change]) {
        (self.from, self.to, self.path) = (from, to, path)
        findings = changes.compactMap(Self.finding)
    }

    private static func finding(_ change: InferredMapping.Change) -> Finding? {
        let place = [change.entity, change.property].compactMap { $0 }.joined(separator: ".")
        let loss: String? =
            switch change.kind {
            case .entityRemoved: "The entity \(place) is removed: its objects are lost."
            case .attributeRemoved: "The attribute \(place) is removed: its values are lost."
            case .relationshipRemoved: "The relationship \(place) is removed: its links are lost."
            case .attributeMadeTransient, .relationshipMadeTransient:
                "\(place) becomes transient: its stored values are lost."
            case .relationshipMadeUnordered: "\(place) is no longer ordered: its order is lost."
            default: nil
            }
        if let loss { return Finding(level: .error, rule: change.kind.rawValue, place: place, message: loss) }
        guard change.isInferable else {
            let reason = change.reason ?? "The change cannot be inferred."
            return Finding(
                level: .warning, rule: change.kind.rawValue, place: place,
                message: "\(place) needs a mapping model: \(reason)")
        }
        return change.reason.map {
            Finding(level: .note, rule: change.kind.rawValue, place: place, message: "\(place): \($0)")
        }
    }

    var json: JSON {
        [
            "from": from, "to": to, "path": path,
            "findings": JSON.list(findings) {
                ["level": $0.level.rawValue, "rule": $0.rule, "place": $0.place, "message": $0.message]
            },
        ]
    }

    var text: [String] {
        if findings.isEmpty { return ["\(from) → \(to): no findings."] }
        return ["\(from) → \(to)", ""]
            + findings.map { finding in
                let level = finding.level.rawValue + ":"
                let word = finding.level == .error ? Emphasis.bad.mark(level) : Emphasis.caution.mark(level)
                return "  \(word) \(finding.message)"
            }
    }

    /// Workflow commands of GitHub Actions.
    var github: [String] {
        findings.map { finding in
            let level = finding.level == .note ? "notice" : finding.level.rawValue
            return "::\(level) file=\(Self.escaped(path, isProperty: true))::\(Self.escaped(finding.message))"
        }
    }

    private static func escaped(_ text: String, isProperty: Bool = false) -> String {
        let text = text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
        return isProperty ? text.replacing(":", with: "%3A").replacing(",", with: "%2C") : text
    }

    /// The findings in the Static Analysis Results Interchange Format.
    var sarif: JSON {
        let rules = Set(findings.map(\.rule)).sorted()
        let driver: JSON = [
            "name": "ferry", "version": FerryVersion.text, "rules": JSON.list(rules) { ["id": $0] },
        ]
        let results = JSON.list(findings) { finding in
            [
                "ruleId": finding.rule, "level": finding.level.rawValue,
                "message": ["text": finding.message] as JSON,
                "locations": JSON.list([path]) { path in
                    ["physicalLocation": ["artifactLocation": ["uri": path] as JSON] as JSON]
                },
            ]
        }
        let run: JSON = ["tool": ["driver": driver] as JSON, "results": results]
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": JSON.list([run]) { $0 },
        ]
    }
}
