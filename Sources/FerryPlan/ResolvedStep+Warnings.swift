internal import FerryBase
internal import FerryMapping
internal import FerryModel

extension ResolvedStep {
    /// New one-to-one relationships in the place of to-many ones: of several objects one is kept.
    var oneToOneWarnings: [FerryWarning] {
        // Comparing whole models takes long, and one-to-one relationships are few.
        var known: ModelMatching?
        var warnings: [FerryWarning] = []
        for entity in destination.model.sortedEntityNames {
            for relationship in destination.model.entities[entity]?.relationships ?? [] where !relationship.isToMany {
                guard let inverse = destination.model.inverse(of: relationship), !inverse.isToMany,
                    let other = destination.model.declaringEntity(
                        of: inverse.name, in: relationship.destinationEntity),
                    // Once for both sides.
                    (entity, relationship.name) <= (other, inverse.name),
                    isCarriedOver(relationship.name, of: entity) || isCarriedOver(inverse.name, of: other)
                else { continue }
                let matching = known ?? ModelMatching(source: source.model, destination: destination.model)
                known = matching
                let old = [
                    matching.sourceRelationship(of: relationship.name, in: entity),
                    matching.sourceRelationship(of: inverse.name, in: other),
                ].compactMap { $0 }
                let wasToMany = old.contains { $0.isToMany || source.model.inverse(of: $0)?.isToMany == true }
                guard wasToMany else { continue }
                warnings.append(
                    FerryWarning(
                        .oneToOne,
                        "\(entity).\(relationship.name) and \(other).\(inverse.name) are one to one in "
                            + "\(destination.name), but were not in \(source.name): of several objects only one stays "
                            + "related.",
                        about: .init(entity: entity, property: relationship.name)))
            }
        }
        return warnings
    }

    /// Whether some object's relationship is what it was in the source.
    private func isCarriedOver(_ name: String, of entity: String) -> Bool {
        let isInferred = mappingModels.allSatisfy(\.isInferred)
        return entityMappings.contains { mapping in
            destination.model.isKind(mapping.destination, of: entity)
                && mapping.relationships.contains { $0.name == name && ($0.isAutomatic || isInferred) }
        }
    }
}
