package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

/// Refuses steps after which CloudKit records would name other objects.
///
/// CloudKit names records by entity, the store by entity number and key: objects must keep key and entity name.
package enum MirroringRefusal {
    /// Returns the refusal that follows from the models alone, or nil.
    package static func find(_ mirroring: MirroringTables, _ step: ResolvedStep) -> FerryError? {
        let model = step.source.model
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            if let problem = problem(with: entity, step) { return refusal(problem, entity) }
        }
        guard mirroring.mirrorsRelationships, let lost = lostRelationship(step, model) else { return nil }
        return refusal("the relationship \(lost.property) is renamed or removed", lost.entity)
    }

    private static func problem(with entity: String, _ step: ResolvedStep) -> String? {
        let mappings = step.entityMappings(of: entity)
        // An entity with another name in a version between counts as renamed.
        guard let mapping = mappings.first, mappings.count == 1, Set(mapping.entities) == [entity] else {
            return "it is renamed, removed or split"
        }
        guard mapping.keepsPrimaryKey else { return "its objects get new keys" }
        return mapping.filter == nil ? nil : "some of its objects can be left out"
    }

    /// Finds a many-to-many relationship, whose links CloudKit's tables store by name, that the new version lacks.
    private static func lostRelationship(_ step: ResolvedStep, _ model: ManagedObjectModel) -> PropertyKey? {
        for entity in model.sortedEntityNames {
            for relationship in model.entities[entity]?.relationships ?? []
            where relationship.isToMany && model.inverse(of: relationship)?.isToMany == true {
                let new = step.destination.model.relationship(relationship.name, of: entity)
                if new?.isToMany != true { return PropertyKey(entity, relationship.name) }
            }
        }
        return nil
    }

    private static func refusal(_ problem: String, _ entity: String) -> FerryError {
        FerryError(
            .unsupported,
            "The store is mirrored to CloudKit, and its record metadata for \(entity) would "
                + "become invalid: \(problem).",
            remedy: "Let the app migrate this store.", place: .init(entity: entity))
    }
}

extension HistoryTables {
    /// The translations of history changes of entities whose objects keep their keys; others name no new object.
    package static func translations(
        by step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [Translation] {
        var known: Set<String> = []
        return step.entityMappings.filter { $0.keepsPrimaryKey && known.insert($0.source).inserted }
            .compactMap { translation(of: $0.entities, in: step.versions.map(\.model), source, destination) }
    }

    /// The columns that the changes table lacks for the version of the step that needs most of them.
    package func missingTombstones(for step: ResolvedStep) -> [String] {
        step.versions.dropFirst().map { missingTombstones(for: $0.model) }.max { $0.count < $1.count } ?? []
    }
}
