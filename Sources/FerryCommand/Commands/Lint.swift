internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// The findings about the changes between two model versions.
struct Lint {
    enum Level: String { case error, warning, note }

    struct Finding {
        var level: Level
        var rule: String
        var place: String
        var message: String
        /// The line of its element in the file; of a removed property, that of the entity.
        var line = 1
    }

    let from: String
    let to: String
    /// The file of the newer version.
    let path: String
    let findings: [Finding]

    /// The findings without a mapping model.
    init(from source: ModelVersion, to destination: ModelVersion) throws(FerryError) {
        let changes = InferredMapping.infer(source: source, destination: destination).changes
        try self.init(source, destination, changes.compactMap(Self.finding))
    }

    /// The findings about mapping models between the two versions.
    init(
        from source: ModelVersion, to destination: ModelVersion, mappingModels: [MappingModel], policies: KnownPolicies
    ) throws(FerryError) {
        var planner = Planner(
            catalog: ModelCatalog(versions: [source, destination]), mappingModels: mappingModels, policies: policies)
        planner.route.allowsDowngrade = true
        // Rows that are only estimated may lose whatever can be lost.
        let plan = planner.plan(from: source, to: destination, rows: [:], areRowsEstimated: true)
        let refusals = plan.refusals.map { refusal in
            // What the code of a policy carries is not known.
            Finding(
                level: refusal.code == .missingPolicy ? .warning : .error, rule: refusal.code.name,
                place: [refusal.place.entity, refusal.place.property].compactMap { $0 }.joined(separator: "."),
                message: refusal.message)
        }
        let losses = plan.losses.map {
            Finding(level: .error, rule: "loss", place: $0.name, message: "\($0.name) is lost: \($0.because).")
        }
        let checks = plan.steps.flatMap(\.needsRowCheck).map { check in
            let problem = check.problem("", key: nil)
            return Finding(
                level: .note, rule: problem.code.name, place: "\(check.entity).\(check.attribute)",
                message: problem.message)
        }
        try self.init(source, destination, refusals + losses + checks)
    }

    private init(
        _ source: ModelVersion, _ destination: ModelVersion, _ findings: [Finding]
    ) throws(FerryError) {
        (from, to) = (source.name, destination.name)
        var (path, lines) = (destination.path, [String: Int]())
        if FileLayer.parts(of: path).extension == "xcdatamodel" {
            path += "/contents"
            lines = try SourceModel.lines(of: try FileLayer().read(path), path: path)
        }
        self.path = path
        self.findings = findings.map { finding in
            var finding = finding
            let entity = String(finding.place.prefix { $0 != "." })
            finding.line = lines[finding.place] ?? lines[entity] ?? 1
            return finding
        }
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
                [
                    "level": $0.level.rawValue, "rule": $0.rule, "place": $0.place, "message": $0.message,
                    "line": $0.line,
                ]
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
            let place = "file=\(Self.escaped(path, isProperty: true)),line=\(finding.line)"
            return "::\(level) \(place)::\(Self.escaped(finding.message))"
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
            let place: JSON = [
                "artifactLocation": ["uri": path] as JSON, "region": ["startLine": finding.line] as JSON,
            ]
            return [
                "ruleId": finding.rule, "level": finding.level.rawValue,
                "message": ["text": finding.message] as JSON,
                "locations": [["physicalLocation": place] as JSON],
            ]
        }
        let run: JSON = ["tool": ["driver": driver] as JSON, "results": results]
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
        ]
    }
}
