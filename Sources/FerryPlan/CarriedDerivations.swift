internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Derived attributes that a step can only carry over as the store has them, since only Core Data computes them.
///
/// The values stay right where the step takes over, as it is, whatever they follow from. The triggers are a matter of
/// the store, which is asked for them before anything is written.
struct CarriedDerivations {
    let step: ResolvedStep
    private var source: ManagedObjectModel { step.source.model }
    private var destination: ManagedObjectModel { step.destination.model }

    /// What the step would make wrong.
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
                            "Make it an ordinary attribute for the migration, or leave what it is derived from as it is.",
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
        if !isTakenOver([attribute.name], of: entity) { return "the mapping gives \(entity) other values" }
        while let name = path.first, let relationship = destination.relationship(name, of: place) {
            guard step.mappingModels.allSatisfy(\.isInferred), isCarried(name, of: place),
                Set(source.family(of: relationship.destinationEntity))
                    == Set(destination.family(of: relationship.destinationEntity))
            else { return "the mapping relates \(place).\(name) anew" }
            place = relationship.destinationEntity
            path = path.dropFirst()
        }
        return isTakenOver(Array(path), of: place) ? nil : "the mapping gives \(place) other values"
    }

    /// Whether every object of an entity has an attribute's value from the same attribute of its source.
    private func isTakenOver(_ path: [String], of entity: String) -> Bool {
        let name = path.joined(separator: ".")
        return mappings(to: entity).allSatisfy { mapping in
            guard source.isKind(mapping.source, of: entity),
                let rule = mapping.attributes.first(where: { $0.name == name })
            else { return false }
            return Substitution.ownAttribute(rule.expression) == name
        }
    }

    /// Whether an inferred mapping takes a relationship from the one of the same name.
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
