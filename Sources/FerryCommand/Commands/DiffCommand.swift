internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import Foundation

struct DiffCommand: Command {
    enum Form: String { case text, github, sarif, json }

    static let name = "diff"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let form: Form = try arguments.choice("--format") ?? .text
        let words = arguments.operands
        let (source, destination) = (try VersionWord(words[0]).version(), try VersionWord(words[1]).version())
        let difference = try Difference(
            from: source, to: destination, mappingModels: mappingModels(from: source, to: destination, on: console),
            policies: KnownPolicies(registered: arguments.policies))
        switch form {
        case .text: console.result(difference.json, text: difference.text)
        case .github: console.result(difference.json, verbatim: difference.github.joined(separator: "\n"))
        case .sarif: console.result(difference.json, verbatim: difference.sarif)
        case .json: console.result(difference.json, verbatim: difference.json.asResult)
        }
        let isDestructive = difference.findings.contains { $0.level == .error }
        return arguments.has("--check") && isDestructive ? .failed : .success
    }

    private func mappingModels(
        from source: ModelVersion, to destination: ModelVersion, on console: Console
    ) throws -> [MappingModel] {
        let both = ModelCatalog(versions: [source, destination])
        let given = try arguments.mappingModels
        var leading: [MappingModel] = []
        for model in given {
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

struct Difference {
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
    let path: String
    private let changes: [InferredMapping.Change]
    let findings: [Finding]
    private let conclusions: [String]
    private let isInferable: Bool
    private let isBackward: Bool

    /// Without mapping models, the mapping is inferred.
    init(
        from source: ModelVersion, to destination: ModelVersion, mappingModels: [MappingModel], policies: KnownPolicies
    ) throws(FerryError) {
        let names: [KeyPath<ModelVersion, String>] = [\.name, \.qualifiedName]
        let name = names.first { source[keyPath: $0] != destination[keyPath: $0] } ?? \.path
        (from, to) = (source[keyPath: name], destination[keyPath: name])
        let catalog = ModelCatalog(versions: [source, destination])
        func plan(_ models: [MappingModel], areRowsEstimated: Bool) -> MigrationPlan {
            var planner = Planner(catalog: catalog, mappingModels: models, policies: policies)
            planner.route.allowsDowngrade = true
            return planner.plan(from: source, to: destination, rows: [:], areRowsEstimated: areRowsEstimated)
        }
        changes = InferredMapping.infer(source: source, destination: destination).changes
        let refusals = plan([], areRowsEstimated: false).refusals
        isInferable = refusals.isEmpty
        var found = changes.compactMap(Self.finding)
        if !mappingModels.isEmpty {
            // Rows that are only estimated may lose whatever can be lost.
            let plan = plan(mappingModels, areRowsEstimated: true)
            found = plan.refusals.map(Self.finding)
            found += plan.losses.map {
                Finding(level: .error, rule: "loss", place: $0.name, message: "\($0.name) is lost: \($0.because).")
            }
            found += plan.steps.flatMap(\.needsRowCheck).map { check in
                let problem = check.problem("", key: nil)
                return Finding(
                    level: .note, rule: problem.code.name, place: "\(check.entity).\(check.attribute)",
                    message: problem.message)
            }
        }
        var (path, lines) = (destination.path, [String: Int]())
        if FileLayer.parts(of: path).extension == "xcdatamodel" {
            path += "/contents"
            lines = try SourceModel.lines(of: try FileLayer().read(path), path: path)
        }
        self.path = path
        findings = found.map { finding in
            var finding = finding
            let entity = String(finding.place.prefix { $0 != "." })
            finding.line = lines[finding.place] ?? lines[entity] ?? 1
            return finding
        }
        let obstacles = changes.count { !$0.isInferable }
        conclusions =
            if !mappingModels.isEmpty {
                findings.isEmpty ? ["The mapping models carry everything over."] : []
            } else if obstacles > 0 {
                [
                    "\(obstacles) \(obstacles == 1 ? "change needs" : "changes need") a mapping model; the others can be inferred."
                ]
            } else if source.hashes == destination.hashes {
                ["Both have the same version hashes: a store of one is also a store of the other."]
            } else {
                isInferable
                    ? ["The migration can be inferred: no mapping model is needed."] : refusals.map(\.message)
            }
        // Versions of several bundles have no certain order.
        isBackward =
            source.bundle != nil && source.bundle == destination.bundle && source.hashes != destination.hashes
            && catalog.isDowngrade(from: source, to: destination)
    }

    private static func finding(_ refusal: FerryError) -> Finding {
        // What the code of a policy carries is not known.
        Finding(
            level: refusal.code == .missingPolicy ? .warning : .error, rule: refusal.code.name,
            place: placeName(refusal.place.entity, refusal.place.property), message: refusal.message)
    }

    private static func finding(_ change: InferredMapping.Change) -> Finding? {
        let place = placeName(change.entity, change.property)
        let (level, message): (Level, String?) =
            switch change.kind {
            case .entityRemoved: (.error, "The entity \(place) is removed: its objects are lost.")
            case .attributeRemoved: (.error, "The attribute \(place) is removed: its values are lost.")
            case .relationshipRemoved: (.error, "The relationship \(place) is removed: its links are lost.")
            case .attributeMadeTransient, .relationshipMadeTransient:
                (.error, "\(place) becomes transient: its stored values are lost.")
            case .relationshipMadeUnordered: (.error, "\(place) is no longer ordered: its order is lost.")
            case _ where !change.isInferable:
                (.warning, "\(place) needs a mapping model: \(change.reason ?? "The change cannot be inferred.")")
            default: (change.kind == .attributeAdded ? .warning : .note, change.reason.map { "\(place): \($0)" })
            }
        return message.map { Finding(level: level, rule: change.kind.rawValue, place: place, message: $0) }
    }

    var json: JSON {
        [
            "from": from, "to": to, "inferable": isInferable,
            "changes": JSON.list(changes) {
                [
                    "entity": $0.entity, "property": $0.property, "kind": $0.kind.rawValue,
                    "inferable": $0.isInferable, "reason": $0.reason,
                ]
            },
            "path": path,
            "findings": JSON.list(findings) {
                [
                    "level": $0.level.rawValue, "rule": $0.rule, "place": $0.place, "message": $0.message,
                    "line": $0.line,
                ]
            },
        ]
    }

    var text: [String] {
        let told = Set(findings.map { [$0.rule, $0.place] })
        let found = findings.map { finding in
            let emphasis = finding.level == .error ? Emphasis.bad : .caution
            return "  \(emphasis.mark(finding.level.rawValue + ":")) \(finding.message)"
        }
        let others = changes.map { (kind: $0.kind.rawValue, place: placeName($0.entity, $0.property)) }
            .filter { !told.contains([$0.kind, $0.place]) }.map { "  \($0.place): \($0.kind.spaced)" }
        return ["\(from) → \(to)"] + ((found + others).isEmpty ? [] : [""]) + found + others
            + (conclusions.isEmpty ? [] : [""]) + conclusions
            + (isBackward ? ["\(from) is newer than \(to). For the changes from old to new, swap the two."] : [])
    }

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
    var sarif: String {
        let results = JSON.list(findings) { finding in
            let place: JSON = [
                "artifactLocation": ["uri": path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)] as JSON,
                "region": ["startLine": finding.line] as JSON,
            ]
            return [
                "ruleId": finding.rule, "level": finding.level.rawValue,
                "message": ["text": finding.message] as JSON,
                "locations": [["physicalLocation": place] as JSON],
            ]
        }
        let rules = JSON.list(Set(findings.map(\.rule)).sorted()) { ["id": $0] }
        // The results come last: names in them may look like a place for another value.
        return Template.sarif.filled(["version": FerryVersion.text, "rules": rules.line])
            .replacing("{{results}}", with: results.line)
    }
}

extension Arguments {
    var mappingModels: [MappingModel] {
        get throws { MappingModel.distinct(try values("--mappings").flatMap { try MappingFile.loadAll(path: $0) }) }
    }
}
