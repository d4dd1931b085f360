internal import Ferry
internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import Foundation

struct MappingShowCommand: Command {
    static let syntax = Syntax(
        "mapping show", summary: "Print a mapping model of any format as Ferry's JSON.",
        discussion: "Prints an equivalent mapping file, to start one from or to read what an Xcode "
            + "mapping model does. What JSON cannot express is reported on standard error.",
        operands: [.init("FILE", "A mapping model: .xcmappingmodel, .cdm or .json.")],
        example: "ferry mapping show Model1_to_Model2.xcmappingmodel > mapping.json")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let rendering = MappingRendering(model: try MappingFile.load(path: arguments.operands[0]))
        let warnings = rendering.model.warnings.map(\.message) + rendering.losses
        console.result(["mapping": rendering.json, "warnings": warnings], verbatim: rendering.json.pretty)
        if !console.isJSON { for warning in warnings { console.warn(warning) } }
        return .success
    }
}

struct MappingCheckCommand: PolicyCommand {
    static let syntax = Syntax(
        "mapping check", summary: "Check a mapping model without a store.",
        discussion: "Checks every name and expression of the file against both model versions, and the order of "
            + "its entity mappings. Exits with 2 if there are problems. What depends on a store's rows is a warning.",
        operands: [.init("FILE", "A mapping model: .xcmappingmodel, .cdm or .json.")],
        options: [MigrationInput.models(isRequired: true)],
        example: "ferry mapping check mapping.json --models App.xcdatamodeld")

    let arguments: Arguments

    private var path: String { arguments.operands[0] }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let catalog = try ModelCatalog(models: arguments.models)
        let known = KnownPolicies(registered: policies)
        var warnings: [String] = []
        var problems: [FerryError] = []
        do throws(FerryError) {
            let mapping = try MappingFile.load(path: path)
            let read = mapping.warnings.map(\.message)
            warnings = read
            let source = try catalog.version(mapping.sourceVersion, mapping.sourceHashes)
            let destination = try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
            let both = ModelCatalog(versions: [source, destination])
            let resolution = MappingResolution.resolve(
                source: source, destination: destination, mappingModels: [mapping], policies: known)
            problems = resolution.problems
            let found = resolution.step.warnings.map(\.message) + resolution.needsRowCheck.map(\.problem.message)
            warnings += found.filter { !read.contains($0) }
            warnings += try MappingEdge.warningsOfEqualVersions(in: [mapping], both).map(\.message)
            if problems.isEmpty {
                let planner = Planner(catalog: both, mappingModels: [mapping], policies: known)
                problems = planner.plan(from: source, to: destination, rows: [:], areRowsEstimated: false).refusals
            }
        } catch {
            guard error.code != .notFound else { throw error }
            problems = [error]
        }
        show(problems, warnings, on: console)
        return problems.isEmpty ? .success : .refused
    }

    private func show(_ problems: [FerryError], _ warnings: [String], on console: Console) {
        let list = JSON.list(problems) { problem in
            [
                "code": problem.code.name, "place": place(of: problem), "message": problem.message,
                "remedy": problem.wordedRemedy,
            ]
        }
        var text = problems.flatMap { ["\($0.code.name): \($0.message)"] + $0.remedyLines(indent: 2) }
        text += warnings.map { "warning: \($0)" }
        text.append(
            problems.isEmpty ? "\(path): no problems." : "\(path): \(Int64(problems.count).counting("problem")).")
        console.result(["problems": list, "warnings": warnings], text: text)
    }

    private func place(of problem: FerryError) -> String? {
        let property = [problem.place.entity, problem.place.property].compactMap { $0 }.joined(separator: ".")
        let parts = [problem.place.entityMapping, property.isEmpty ? nil : property].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}

/// A mapping model in the form of Ferry's mapping file.
struct MappingRendering {
    var model: MappingModel
    /// Properties without a rule, each with a text that is not an expression: the file is refused with its line and path.
    var marks: [Mark] = []
    /// The mapping model whose entity mappings the file replaces, as the file names it.
    var extends: String?
    /// Notes for readers of the file, by entity mapping.
    var notes: [String: [String]] = [:]

    struct Mark {
        var entity: String
        var property: String
        var isRelationship: Bool
        var text: String
        /// The entity mapping of the property; nil for all entity mappings of the entity.
        var entityMapping: String?
    }

    var json: JSON {
        let ends: JSON =
            extends.map { ["extends": $0] }
            ?? ["source": model.sourceVersion, "destination": model.destinationVersion]
        return ends + ["entityMappings": JSON.list(shown, json)]
            + (model.partitions.map { ["partitions": $0] } ?? [:])
    }

    /// The parts of the mapping model that Ferry's JSON cannot hold, one line each.
    var losses: [String] {
        var losses = model.entityMappings.filter { !isShown($0) }.map {
            "The entity mapping \($0.name) has neither a source nor a policy: it creates no objects and is left out."
        }
        for mapping in shown {
            losses += mapping.unreadable.map { "\(mapping.name): \($0.part) is not shown: \($0.reason)" }
            if !mapping.userInfo.isEmpty { losses.append("\(mapping.name): its user info is not shown.") }
        }
        return losses
    }

    private var shown: [EntityMapping] { model.entityMappings.filter(isShown) }

    private func isShown(_ mapping: EntityMapping) -> Bool {
        mapping.source != nil || (mapping.policyClassName != nil && mapping.destination != nil)
    }

    private func json(_ mapping: EntityMapping) -> JSON {
        var members: JSON = ["name": mapping.name, "source": mapping.source, "destination": mapping.destination]
        // The policy is not the last line, so that removing it leaves no comma over.
        if let policy = mapping.policyClassName { members += ["policy": policy] }
        if let note = notes[mapping.name] { members += ["note": note] }
        if extends != nil, let filter = mapping.unreadable.first(where: { $0.property == nil }) {
            members += ["where": "? \(filter.part) cannot be read: \(filter.reason)"]
        }
        if let filter = mapping.filter { members += ["where": "\(filter)"] }
        if let iteration = mapping.iteration {
            members += ["forEach": [iteration.variable: "\(iteration.elements)"] as JSON]
            if iteration.skipsInvalid { members += ["onInvalid": "skip"] }
        }
        if !mapping.unique.isEmpty { members += ["unique": mapping.unique] }
        switch mapping.keep {
        case .first: break
        case .last: members += ["keep": "last"]
        case .newest(let value): members += ["keep": "newest by \(value)"]
        }
        if let nilIsEqual = mapping.nilIsEqual { members += ["nilIsEqual": nilIsEqual] }
        if !mapping.isAutomatic { members += ["automatic": false] }
        let attributes = attributes(of: mapping)
        if !attributes.isEmpty { members += ["attributes": JSON.object(attributes)] }
        let relationships = relationships(of: mapping)
        if !relationships.isEmpty { members += ["relationships": JSON.object(relationships)] }
        return members
    }

    private func attributes(of mapping: EntityMapping) -> [(String, JSON)] {
        var members = mapping.attributes.compactMap { name, rule -> (String, JSON)? in
            switch rule {
            case .automatic: mapping.isAutomatic ? nil : (name, .string("$source.\(name)"))
            case .empty: (name, .null)
            case .value(let expression): (name, .string("\(expression)"))
            }
        }
        members += marks(of: mapping, isRelationship: false).map { ($0.property, .string($0.text)) }
        return members.inOrder { $0.0 < $1.0 }
    }

    private func relationships(of mapping: EntityMapping) -> [(String, JSON)] {
        func rule(_ name: String?, from: String) -> JSON { ["mapping": name, "from": from] }
        var members = mapping.relationships.compactMap { name, value -> (String, JSON)? in
            switch value {
            case .automatic: mapping.isAutomatic ? nil : (name, rule(nil, from: "$source.\(name)"))
            case .empty: (name, .null)
            case .destinations(let mapping, let from): (name, rule(mapping, from: "\(from)"))
            case .destinationsOfAnyMapping(let from): (name, rule(nil, from: "\(from)"))
            }
        }
        members += marks(of: mapping, isRelationship: true).map { ($0.property, rule(nil, from: $0.text)) }
        return members.inOrder { $0.0 < $1.0 }
    }

    private func marks(of mapping: EntityMapping, isRelationship: Bool) -> [Mark] {
        marks.filter {
            $0.entity == mapping.destination && $0.isRelationship == isRelationship
                && ($0.entityMapping == nil || $0.entityMapping == mapping.name)
        }
    }
}
