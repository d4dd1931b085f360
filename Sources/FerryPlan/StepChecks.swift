internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// Checks that SQLite can run the expressions of an entity mapping.
///
/// An expression may join too many tables. If it is too deep for the parser, it is a call with limited columns.
struct ExpressionDepth {
    /// SQLite joins 64 tables; some belong to the statement itself.
    private static let hopLimit = 48

    private let mapping: ResolvedEntityMapping
    private let translation: ExpressionTranslation
    private let destination: ManagedObjectModel

    init(of mapping: ResolvedEntityMapping, in step: ResolvedStep) {
        self.mapping = mapping
        destination = step.destination.model
        translation = ExpressionTranslation(scope: mapping.expressionScope(in: step.source.model))
    }

    /// Returns nil for an expression that cannot be translated: the mapping model's check reports it, with its place.
    private static func translated<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch { return nil }
    }

    private func computation(of rule: ResolvedAttribute) -> Computation? {
        guard let expression = rule.expression,
            let attribute = destination.attribute(rule.name, of: mapping.destination)
        else { return nil }
        return Self.translated { try translation.value(expression, for: attribute) }
    }

    /// - Throws: ``FerryError`` `.unsupported` if an expression is deeper than SQLite reads and has more columns than a
    ///   function takes, or if all expressions together follow more relationships than SQLite joins tables.
    func check() throws(FerryError) {
        var parts: [(what: String, computation: Computation)] = []
        if let filter = mapping.filter, let condition = Self.translated({ try translation.condition(filter) }) {
            parts.append(("where", condition))
        }
        if case .json(let text, _)? = mapping.iteration?.elements,
            let value = Self.translated({ try translation.value(text) })
        {
            parts.append(("forEach", value.computation))
        }
        // A plain copy of an attribute, as most rules are, is not deep: translating it takes most of a long chain's plan.
        for rule in mapping.attributes where rule.expression?.isPlainCopy != true {
            if let value = computation(of: rule) { parts.append((rule.name, value)) }
        }
        for (what, computation) in parts
        where computation.depth > Computation.depthLimit && !computation.callsPolicy
            && DeepComputation(computation) == nil
        {
            throw FerryError(
                .unsupported,
                "Entity mapping \(mapping.name): `\(what)` nests more operations than SQLite allows, on "
                    + "more than \(DeepComputation.argumentLimit) attributes.",
                remedy: "Split it into several steps, or compute it in a migration policy.",
                place: .init(entityMapping: mapping.name))
        }
        var hops: Set<[String]> = []
        for part in parts { part.computation.addHops(to: &hops) }
        guard hops.count <= Self.hopLimit else {
            throw FerryError(
                .unsupported,
                "Entity mapping \(mapping.name) follows \(hops.count) relationships, more than SQLite can join.",
                remedy: "Split it into several steps, or follow them in a migration policy.",
                place: .init(entityMapping: mapping.name))
        }
    }
}

extension Expression {
    /// Whether it is `$source.key`.
    fileprivate var isPlainCopy: Bool {
        guard case .keyPath(.variable("source"), let steps) = self, steps.count == 1 else { return false }
        if case .key = steps[0] { return true }
        return false
    }
}

extension Computation {
    fileprivate func addHops(to hops: inout Set<[String]>) {
        switch self {
        case .column(let path):
            var way = ["\(path.start)"]
            for hop in path.hops {
                way.append(hop.relationship.name)
                hops.insert(way)
            }
        case .collection(let collection):
            // A collection has its own statement, joined to the objects where it starts.
            if case .object(let path) = collection.start { Computation.column(path).addHops(to: &hops) }
            for united in collection.united { Computation.collection(united).addHops(to: &hops) }
            fallthrough
        default: for part in parts { part.addHops(to: &hops) }
        }
    }
}

/// Derived attributes that only Core Data computes, so that a step can only carry over their stored values.
///
/// The values stay right if the step keeps all that they derive from. The store's triggers are checked separately.
struct CarriedDerivations {
    let step: ResolvedStep
    private var source: ManagedObjectModel { step.source.model }
    private var destination: ManagedObjectModel { step.destination.model }

    func refusals() -> [FerryError] {
        var refusals: [FerryError] = []
        for entity in destination.sortedEntityNames {
            let inherited = Set(destination.lineage(of: entity).dropFirst().flatMap { $0.attributes.map(\.name) })
            for attribute in destination.entities[entity]?.attributes ?? [] where !inherited.contains(attribute.name) {
                guard destination.isCarriedAsFound(attribute, of: entity),
                    let reason = obstacle(to: attribute, of: entity)
                else { continue }
                refusals.append(
                    FerryError(
                        .unsupported,
                        "\(entity).\(attribute.name) cannot be carried over: only Core Data can derive it, and \(reason).",
                        remedy:
                            "Make it an ordinary attribute for the migration, or do not change what it is derived from.",
                        place: .init(entity: entity, property: attribute.name)))
            }
        }
        return refusals
    }

    private func obstacle(to attribute: Attribute, of entity: String) -> String? {
        if let reason = source.changeOfDerivation(entity: entity, attribute: attribute.name, in: destination) {
            return reason
        }
        guard var path = attribute.derivation?.path?[...] else { return nil }
        var place = entity
        if !isTakenOver([attribute.name], of: entity) { return "the mapping changes the values of \(entity)" }
        while let name = path.first, let relationship = destination.relationship(name, of: place) {
            guard step.mappingModels.allSatisfy(\.isInferred), isCarried(name, of: place),
                Set(source.family(of: relationship.destinationEntity))
                    == Set(destination.family(of: relationship.destinationEntity))
            else { return "the mapping changes \(place).\(name)" }
            place = relationship.destinationEntity
            path = path.dropFirst()
        }
        return isTakenOver(Array(path), of: place) ? nil : "the mapping changes the values of \(place)"
    }

    /// Whether all objects of an entity take an attribute's value from the same attribute of their sources.
    private func isTakenOver(_ path: [String], of entity: String) -> Bool {
        let name = path.joined(separator: ".")
        return mappings(to: entity).allSatisfy { mapping in
            guard source.isKind(mapping.source, of: entity),
                let rule = mapping.attributes.first(where: { $0.name == name })
            else { return false }
            return rule.expression?.ownProperty == name
        }
    }

    /// Whether an inferred mapping fills a relationship from the relationship of the same name.
    private func isCarried(_ name: String, of entity: String) -> Bool {
        let matching = ModelMatching(source: source, destination: destination)
        return mappings(to: entity).allSatisfy { mapping in
            source.isKind(mapping.source, of: entity)
                && matching.sourceRelationship(of: name, in: mapping.destination)?.name == name
        }
    }

    private func mappings(to entity: String) -> [ResolvedEntityMapping] {
        step.entityMappings.filter { destination.isKind($0.destination, of: entity) }
    }
}
