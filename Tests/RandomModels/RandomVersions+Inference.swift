internal import FerryMapping
package import FerryModel

extension RandomVersions {
    /// Returns the model and its successors, each of which can be inferred from the one before it.
    package mutating func inferableModels(_ count: Int) -> [ManagedObjectModel] {
        models(count) { Self.canInfer(from: $0, to: $1) }
    }

    /// Whether two models differ, and the mapping between them can be inferred and carries objects.
    static func canInfer(from older: ManagedObjectModel, to newer: ManagedObjectModel) -> Bool {
        let versions = [older, newer].map { model in
            ModelVersion(
                name: "", bundle: nil, path: "", isCurrent: false, model: model, hashes: VersionHash.hashes(of: model))
        }
        guard versions[0].hashes != versions[1].hashes else { return false }
        let mappingModel = InferredMapping.infer(source: versions[0], destination: versions[1]).mappingModel
        return mappingModel?.entityMappings.contains { $0.source != nil && $0.destination != nil } == true
    }
}

extension ManagedObjectModel {
    /// Whether an entity has a many-to-many relationship with its own hierarchy, whose columns only Core Data knows.
    package var hasSelfJoin: Bool {
        entities.values.contains { entity in
            entity.relationships.contains { relationship in
                relationship.isToMany && root(of: relationship.destinationEntity) == root(of: entity.name)
                    && inverse(of: relationship)?.isToMany == true
            }
        }
    }
}
