internal import Ferry
internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import Foundation

struct MappingShowCommand: Command {
    static let name = "mapping show"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let rendering = MappingRendering(model: try MappingFile.load(path: arguments.operands[0]))
        let warnings = rendering.model.warnings.map(\.message) + rendering.losses
        console.result(["mapping": rendering.json, "warnings": warnings], verbatim: rendering.json.pretty)
        if !console.isJSON { for warning in warnings { console.warn(warning) } }
        return .success
    }
}

struct MappingCheckCommand: Command {
    static let name = "mapping check"

    let arguments: Arguments

    private struct Checked {
        var path: String
        var mapping: MappingModel?
        var problems: [FerryError] = []
        var warnings: [String] = []
    }

    func run(on console: Console) throws -> ExitCode {
        let catalog = try ModelCatalog(models: arguments.models)
        var files: [Checked] = []
        for path in arguments.operands.distinct { files.append(try read(path)) }
        var steps: [[String]: (source: ModelVersion, destination: ModelVersion, files: [Int])] = [:]
        for index in files.indices {
            guard let mapping = files[index].mapping else { continue }
            do throws(FerryError) {
                let source = try catalog.version(mapping.sourceVersion, mapping.sourceHashes)
                let destination = try catalog.version(mapping.destinationVersion, mapping.destinationHashes)
                steps[[source.path, destination.path], default: (source, destination, [])].files.append(index)
            } catch {
                files[index].problems.append(error)
            }
        }
        for step in steps.values.inOrder(by: { $0.files[0] < $1.files[0] }) {
            try check(&files, step.files, from: step.source, to: step.destination)
        }
        show(files, on: console)
        return files.allSatisfy(\.problems.isEmpty) ? .success : .refused
    }

    private func read(_ path: String) throws -> Checked {
        let faults = JSONFaults()
        var checked = Checked(path: path)
        do throws(FerryError) {
            let mapping = try MappingFile.load(path: path, faults: faults)
            checked.warnings = mapping.warnings.map(\.message)
            // Without one of its parts, others would seem wrong.
            if !faults.hasGaps { checked.mapping = mapping }
            checked.problems = faults.errors
        } catch {
            guard error.code != .notFound else { throw error }
            checked.problems = faults.errors + [error]
        }
        return checked
    }

    /// Checks the files between two versions; a finding without a file is the first one's.
    private func check(
        _ files: inout [Checked], _ indices: [Int], from source: ModelVersion, to destination: ModelVersion
    ) throws(FerryError) {
        let known = KnownPolicies(registered: arguments.policies)
        let mappings = indices.compactMap { files[$0].mapping }
        let both = ModelCatalog(versions: [source, destination])
        let resolution = MappingResolution.resolve(
            source: source, destination: destination, mappingModels: mappings, policies: known)
        var problems = resolution.problems
        if problems.isEmpty, indices.allSatisfy({ files[$0].problems.isEmpty }) {
            let planner = Planner(catalog: both, mappingModels: mappings, policies: known)
            problems = planner.plan(from: source, to: destination, rows: [:], areRowsEstimated: false).refusals
        }
        for problem in problems {
            let index = indices.first { files[$0].mapping?.path == problem.place.mappingModel } ?? indices[0]
            files[index].problems.append(problem)
        }
        let read = Set(mappings.flatMap(\.warnings).map(\.message))
        let rows = resolution.needsRowCheck.map { $0.problem("", key: nil).message }
        files[indices[0]].warnings += (resolution.step.warnings.map(\.message) + rows).filter { !read.contains($0) }
        files[indices[0]].warnings += try MappingEdge.warningsOfEqualVersions(in: mappings, both).map(\.message)
    }

    private func show(_ files: [Checked], on console: Console) {
        let problems = files.flatMap { file in file.problems.map { (file.path, $0) } }
        let list = JSON.list(problems) { path, problem in
            [
                "file": path, "code": problem.code.name, "place": place(of: problem), "message": problem.message,
                "remedy": problem.wordedRemedy,
            ]
        }
        var text: [String] = []
        for file in files {
            text += file.problems.flatMap { ["\($0.code.name): \($0.message)"] + $0.remedyLines(indent: 2) }
            text += file.warnings.map { "warning: \($0)" }
            let count = Int64(file.problems.count)
            text.append("\(file.path): \(count == 0 ? "no problems" : count.counting("problem")).")
        }
        console.result(["problems": list, "warnings": files.flatMap(\.warnings)], text: text)
    }

    private func place(of problem: FerryError) -> String? {
        let property = placeName(problem.place.entity, problem.place.property)
        let parts = [problem.place.entityMapping, property.isEmpty ? nil : property].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}

struct MappingRendering {
    var model: MappingModel
    var places: [Place] = []
    /// The mapping model whose entity mappings the file replaces, as the file names it.
    var extends: String?
    var notes: [String: [String]] = [:]

    struct Place {
        var entityMapping: String
        var entity: String?
        /// Nil for the source or the destination entity.
        var property: String?
        var isRelationship = false
        /// Whether a text that is not an expression stands for the property's rule: the file is then refused with its line.
        var isMark = true
        var text: String

        var json: JSON {
            ["entityMapping": entityMapping, "entity": entity, "property": property, "reason": text]
        }
        var note: String { "open: \(placeName(entity ?? entityMapping, property)): \(text)" }
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

    private func marks(of mapping: EntityMapping, isRelationship: Bool) -> [(property: String, text: String)] {
        places.filter { $0.isMark && $0.entityMapping == mapping.name && $0.isRelationship == isRelationship }
            .map { ($0.property ?? "", "? \($0.text)") }
    }
}
