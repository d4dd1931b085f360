internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel

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
                "locations": [["physicalLocation": ["artifactLocation": ["uri": path] as JSON] as JSON] as JSON],
            ]
        }
        let run: JSON = ["tool": ["driver": driver] as JSON, "results": results]
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
        ]
    }
}
