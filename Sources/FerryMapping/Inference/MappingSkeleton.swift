internal import FerryExpression
package import FerryModel

/// A mapping model to begin with: what is inferred is filled in, what cannot be is marked.
package struct MappingSkeleton: Sendable {
    /// A value that only its author can give, and why.
    package struct Open: Sendable, Hashable {
        package var entity: String
        package var property: String?
        package var reason: String
    }

    /// Without the properties that are open; what is automatic is not written down.
    package private(set) var mappingModel: MappingModel
    /// In the order of the changes.
    package private(set) var open: [Open] = []

    /// - Parameters:
    ///   - source: The older version.
    ///   - destination: The newer version.
    package init(source: ModelVersion, destination: ModelVersion) {
        let difference = ModelDifference(from: source.model, to: destination.model)
        let inferred = InferredEntityMappings(source: source, destination: destination, difference: difference)
        mappingModel = MappingModel(
            name: "skeleton", path: "", sourceVersion: source.name, destinationVersion: destination.name,
            entityMappings: [])
        for change in InferenceRules(difference).verdicts() {
            guard let reason = change.reason, MappingSkeleton.needsValue(change) else { continue }
            open.append(Open(entity: change.entity, property: change.property, reason: reason))
        }
        let marked = Set(open.map { PropertyPlace(entity: $0.entity, property: $0.property ?? "") })
        // A mapping that adds an entity makes no objects, and is left out.
        let all = inferred.all().filter { $0.source != nil }
        mappingModel.entityMappings = all.map { mapping in
            var mapping = mapping
            let destinationEntity = mapping.destination
            mapping.name = MappingSkeleton.name(of: mapping)
            func isOpen(_ property: String) -> Bool {
                destination.model.lineage(of: destinationEntity ?? "").contains {
                    marked.contains(PropertyPlace(entity: $0.name, property: property))
                }
            }
            mapping.attributes = mapping.attributes.filter { !isOpen($0.key) }
            mapping.relationships = mapping.relationships.filter { !isOpen($0.key) }
            return mapping
        }
    }

    private struct PropertyPlace: Hashable {
        var entity: String
        var property: String
    }

    private static func name(of mapping: EntityMapping) -> String {
        mapping.destination == nil
            ? "Remove\(mapping.source ?? "")"
            : EntityMapping.derivedName(source: mapping.source, destination: mapping.destination)
    }

    /// What has a condition only the rows can meet is a hint; what has no value at all must get one.
    private static func needsValue(_ change: InferredMapping.Change) -> Bool {
        !change.isInferable
            || [.attributeAdded, .attributeMadePersistent, .relationshipAdded, .relationshipMadePersistent]
                .contains(change.kind)
    }
}
