internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

extension ResolvedEntityMapping {
    /// SQLite joins 64 tables; some belong to the statement itself.
    private static let hopLimit = 48

    /// Checks that SQLite can run the mapping's expressions.
    ///
    /// An expression may join too many tables. If it is too deep for the parser, it is a call with limited columns.
    ///
    /// - Throws: ``FerryError`` `.unsupported` if an expression is deeper than SQLite reads and has more columns than a
    ///   function takes, or if all expressions together follow more relationships than SQLite joins tables.
    func checkDepth(in step: ResolvedStep) throws(FerryError) {
        let parts = computations(in: step, ofObjects: false)
        for (what, computation) in parts
        where computation.depth > Computation.depthLimit && !computation.callsPolicy
            && !BoundComputation(computation).isForSQL
        {
            throw FerryError(
                .unsupported,
                "Entity mapping \(name): `\(what)` nests more operations than SQLite allows, on "
                    + "more than \(BoundComputation.argumentLimit) attributes.",
                remedy: "Split it into several steps, or compute it in a migration policy.",
                place: .init(entityMapping: name))
        }
        var hops: Set<[String]> = []
        for part in parts { part.computation.addHops(to: &hops) }
        guard hops.count <= Self.hopLimit else {
            throw FerryError(
                .unsupported,
                "Entity mapping \(name) follows \(hops.count) relationships, more than SQLite can join.",
                remedy: "Split it into several steps, or follow them in a migration policy.",
                place: .init(entityMapping: name))
        }
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
