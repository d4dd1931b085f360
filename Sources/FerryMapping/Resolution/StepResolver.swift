internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// A resolution in progress: the mappings that make objects, and the findings so far.
struct StepResolver {
    let source: ModelVersion
    let destination: ModelVersion
    let mappingModels: [MappingModel]
    let policies: KnownPolicies

    /// In processing order.
    var live: [LiveMapping] = []
    /// Names of entity mappings that make no objects, by mapping model.
    var idle: [Int: Set<String>] = [:]
    var problems: [FerryError] = []
    var warnings: [FerryWarning] = []
    /// Relationships that an entity mapping leaves empty, with their warnings.
    var emptied: [(warning: FerryWarning, mapping: String, relationship: Relationship)] = []
    var overruled: [OverruledRule] = []
    var needsEmptySource: [MappingResolution.EmptyCheck] = []

    mutating func resolve() -> MappingResolution {
        warnings = mappingModels.flatMap(\.warnings)
        collect()
        reportDoubles()
        let keeping = keepingPrimaryKeys()
        var resolved: [ResolvedEntityMapping] = []
        for (position, mapping) in live.enumerated() {
            resolved.append(resolve(mapping, at: position, keepsPrimaryKey: keeping[position]))
        }
        removeWarningsOfFilledRelationships(in: resolved)
        settleInverses(in: &resolved)
        warnOfEmptyRelationships(in: resolved)
        warnOfDroppedAndEmptyEntities()
        let step = ResolvedStep(
            source: source, destination: destination, mappingModels: mappingModels, entityMappings: resolved,
            warnings: warnings, overruled: overruled)
        reportSharedFiles(in: step)
        // A policy, or the mapping that replaces it, may fill attributes that a mapping leaves empty.
        let withPolicy = Set(live.filter { $0.mapping.policyClassName != nil }.map(\.name))
        return MappingResolution(
            step: step, problems: problems,
            needsRowCheck: step.valuesWithoutSource.filter { !withPolicy.contains($0.entityMapping) },
            needsEmptySource: needsEmptySource, needsUniqueValues: step.uniquenessChecks)
    }

    // MARK: Mappings that make objects

    private mutating func collect() {
        var modelsOfName: [String: Set<Int>] = [:]
        for (index, model) in mappingModels.enumerated() {
            for mapping in model.entityMappings { modelsOfName[mapping.name, default: []].insert(index) }
        }
        for (index, model) in mappingModels.enumerated() {
            var names: Set<String> = []
            for mapping in model.entityMappings {
                let isShared = modelsOfName[mapping.name, default: []].count > 1
                let name = isShared ? "\(model.name)/\(mapping.name)" : mapping.name
                guard names.insert(mapping.name).inserted else {
                    report(
                        .badMapping, "the mapping model has a second entity mapping of this name.", mapping,
                        model: index,
                        remedy: "Give one of them another name.")
                    continue
                }
                if let mapping = livingMapping(mapping, name: name, model: index) {
                    live.append(mapping)
                } else {
                    idle[index, default: []].insert(mapping.name)
                }
            }
        }
        for index in live.indices { live[index].scope.iteration = iteration(of: live[index]) }
        live = live.flatMap { separatingKept($0) }
    }

    /// The mapping, if it makes objects and its entities fit.
    private mutating func livingMapping(_ mapping: EntityMapping, name: String, model: Int) -> LiveMapping? {
        reportOpenParts(of: mapping, model: model)
        var (mapping, problemsBefore) = (mapping, problems.count)
        let policy = mapping.policyClassName.flatMap { policies.registeredName(of: $0) }
        if let missing = mapping.policyClassName, policy == nil { reportPolicy(missing, mapping, model: model) }
        for (entity, version, side) in [
            (\EntityMapping.source, source, "source"), (\.destination, destination, "destination"),
        ] {
            guard let name = mapping[keyPath: entity], version.model.entities[name] == nil else { continue }
            report(
                .badMapping,
                "\(version.name) has no entity \"\(name)\""
                    + NearNames.clause(for: name, among: version.model.entities.keys),
                mapping, model: model, remedy: "Correct the \(side) entity's name.")
            // The rest is checked with the name that is asked for: its errors are told at once.
            guard let near = NearNames.near(to: name, among: version.model.entities.keys).first else { continue }
            mapping[keyPath: entity] = near
            problemsBefore += 1
        }
        // The code of a policy may create objects of the subentities.
        if let source = mapping.source, let destination = mapping.destination, policy == nil,
            self.destination.model.entities[destination]?.isAbstract == true
        {
            // An entity that becomes abstract is not an error in a file: only its rows cannot be carried over.
            if mappingModels[model].isInferred {
                needsEmptySource.append(.init(entityMapping: mapping.name, source: source, destination: destination))
                return nil
            }
            report(
                .badMapping, "its destination entity \"\(destination)\" is abstract and has no objects.", mapping,
                model: model, remedy: "Map to one of its subentities.")
        }
        if let policy, mapping.source == nil || mapping.iteration != nil || !mapping.unique.isEmpty {
            report(
                .unsupported,
                "its migration policy \(policy) has no source objects to be called for.", mapping,
                model: model,
                remedy: """
                    Let the policy of another entity mapping create these objects, or use a mapping without "forEach" and \
                    "unique".
                    """)
        }
        guard let source = mapping.source, let destination = mapping.destination else { return nil }
        let hasPolicyOnly = problems.count == problemsBefore + 1 && mapping.policyClassName != nil && policy == nil
        guard problems.count == problemsBefore || hasPolicyOnly else { return nil }
        return LiveMapping(
            name: name, mapping: mapping, model: model, source: source, destination: destination, policy: policy,
            scope: ExpressionScope(
                model: self.source.model, entity: source, policyFunctions: policy.map { policies.functions(of: $0) }))
    }

    /// The mappings of a name in a mapping model: its own, else those of the step's other mapping models.
    ///
    /// Nil if no mapping has the name; empty if its mapping makes no objects.
    func mappings(named name: String, from model: Int) -> [LiveMapping]? {
        let named = live.filter { $0.mapping.name == name || $0.name == name }
        let own = named.filter { $0.model == model }
        if !own.isEmpty { return own }
        if idle[model]?.contains(name) == true { return [] }
        if !named.isEmpty { return named }
        return idle.values.contains { $0.contains(name) } ? [] : nil
    }

    private mutating func resolve(
        _ mapping: LiveMapping, at position: Int, keepsPrimaryKey: Bool
    ) -> ResolvedEntityMapping {
        let problemsBefore = problems.count
        for part in mapping.mapping.unreadable where !part.isOpen {
            report(
                .unsupported, "\(part.part) cannot be used: \(part.reason)", mapping,
                remedy: Remedy(standIn(for: mapping.mapping, model: mapping.model)))
        }
        checkFilter(of: mapping)
        var filter = mapping.mapping.filter?.drawing(at: mapping.name)
        let unique = unique(of: mapping)
        var attributes = attributes(of: mapping)
        let relationships = relationships(of: mapping)
        settleInvalidValues(of: mapping, in: &attributes, &filter)
        let resolved = ResolvedEntityMapping(
            position: position, mappingModel: mapping.model, name: mapping.name, source: mapping.source,
            destination: mapping.destination, filter: filter, iteration: mapping.mapping.iteration, unique: unique,
            nilIsEqual: nilIsEqual(in: mapping), keep: mapping.mapping.keep, separatedFrom: mapping.separatedFrom,
            attributes: attributes, relationships: relationships,
            keepsPrimaryKey: keepsPrimaryKey && mapping.policy == nil, policy: mapping.policy,
            policyFunctions: mapping.scope.policyFunctions,
            policyKeepsPrimaryKeys: keepsPrimaryKey && mapping.policy != nil, userInfo: mapping.mapping.userInfo)
        if mapping.mapping.policyClassName != nil, mapping.policy == nil {
            // Code or another mapping replaces this one, so its other problems are not reported.
            problems.removeSubrange(problemsBefore...)
        }
        return resolved
    }

    // MARK: Dropped and empty entities

    private mutating func warnOfDroppedAndEmptyEntities() {
        let mappings = mappingModels.flatMap(\.entityMappings)
        let filled = Set(live.map(\.destination))
        // An empty new entity needs no warning if no file has a mapping that adds it, or if a policy's code may fill it.
        let claims =
            mappings.contains { $0.policyClassName != nil }
            ? [] : mappingModels.filter { !$0.isInferred }.flatMap(\.entityMappings)
        for mapping in claims where mapping.source == nil && !mapping.unreadable.contains(where: \.isOpen) {
            guard let destination = mapping.destination, !filled.contains(destination),
                self.destination.model.entities[destination]?.isAbstract == false
            else { continue }
            warnings.append(
                FerryWarning(
                    .emptyEntity,
                    "Entity mapping \"\(mapping.name)\" only adds the entity \(destination), and no other mapping creates "
                        + "objects of it: it stays empty.",
                    about: .init(entity: destination, entityMapping: mapping.name)))
        }
        let read = Set(mappings.compactMap(\.source))
        for name in source.model.sortedEntityNames where !read.contains(name) {
            guard source.model.entities[name]?.isAbstract == false else { continue }
            warnings.append(
                FerryWarning(
                    .droppedEntity, "The source entity \(name) has no entity mapping: its objects are dropped.",
                    about: .init(entity: name)))
        }
    }

    mutating func report(
        _ code: FerryError.Code, _ message: String, _ mapping: LiveMapping, property: String? = nil, line: Int? = nil,
        remedy: Remedy
    ) {
        report(
            code, message, mapping.mapping, model: mapping.model, property: property, line: line, remedy: remedy)
    }

    mutating func report(
        _ code: FerryError.Code, _ message: String, _ mapping: EntityMapping, model: Int, property: String? = nil,
        line: Int? = nil, remedy: Remedy
    ) {
        let path = mappingModels[model].path
        let file = fileName(of: path) + (line.map { ":\($0)" } ?? "")
        problems.append(
            FerryError(
                code, "\(file): entity mapping \"\(mapping.name)\": \(message)", remedy: remedy,
                place: .init(
                    entityMapping: mapping.name, entity: mapping.destination, property: property,
                    mappingModel: path.isEmpty ? nil : path, models: modelFiles)))
    }
}

struct PropertyName: Hashable {
    var entity: String
    var property: String
}

/// An entity mapping that makes objects, with the context of its resolution.
struct LiveMapping {
    /// Its name in the step.
    var name: String
    var mapping: EntityMapping
    /// The index of its mapping model.
    var model: Int
    var source: String
    var destination: String
    /// The registered name of its migration policy.
    var policy: String?
    var scope: ExpressionScope
    /// The name of ``ResolvedEntityMapping/separatedFrom``.
    var separatedFrom: String?
}

extension StepResolver {
    /// Whether each live mapping's objects keep the primary keys of their sources.
    ///
    /// Keys are unique per root table. In each destination root the first source root that can keep its keys does. Each
    /// of its source entities does so once: two mappings of one entity may make two objects of one source object.
    func keepingPrimaryKeys() -> [Bool] {
        var keeper: [String: String] = [:]
        var carried: [String: Set<String>] = [:]
        return live.map { mapping in
            guard mapping.mapping.iteration == nil, mapping.mapping.unique.isEmpty else { return false }
            let sourceRoot = source.model.root(of: mapping.source)
            let destinationRoot = destination.model.root(of: mapping.destination)
            if keeper[destinationRoot] == nil { keeper[destinationRoot] = sourceRoot }
            guard keeper[destinationRoot] == sourceRoot else { return false }
            return carried[destinationRoot, default: []].insert(mapping.source).inserted
        }
    }
}
