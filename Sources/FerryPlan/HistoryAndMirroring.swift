package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

/// Whether what a store remembers of its records in CloudKit keeps its meaning through a step.
///
/// Records on the server are known by the names of their entities and relationships, and here by number and key: so
/// every object must stay, with its key, in an entity of the same name. Only the numbers may change.
package enum MirroringRefusal {
    /// Why a step cannot be taken; nil when it can.
    ///
    /// `unknownEntities` asks the store for rows about entities that it does not have.
    package static func find<Failure>(
        _ mirroring: MirroringTables, _ step: ResolvedStep,
        unknownEntities: () throws(Failure) -> (table: String, rows: Int64)?
    ) throws(Failure) -> FerryError? {
        if let refusal = find(mirroring, step) { return refusal }
        if let found = try unknownEntities() {
            return FerryError(
                .damagedSource,
                "\(found.rows.counting("row")) of \(found.table) \(found.rows == 1 ? "is" : "are") about an entity that the store does "
                    + "not have; under its number they could come to mean another one.",
                remedy: "Let the app clear the mirroring of this store, or migrate it.")
        }
        return nil
    }

    /// The same, as far as the models tell.
    package static func find(_ mirroring: MirroringTables, _ step: ResolvedStep) -> FerryError? {
        let model = step.source.model
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            if let problem = problem(with: entity, step) { return refusal(problem, entity) }
        }
        guard mirroring.mirrorsRelationships, let lost = lostRelationship(step, model) else { return nil }
        return refusal("the relationship \(lost.property) is renamed or removed", lost.entity)
    }

    private static func problem(with entity: String, _ step: ResolvedStep) -> String? {
        let mappings = step.entityMappings.filter { $0.source == entity }
        // Also a name that the entity had only on the way is another one.
        guard let mapping = mappings.first, mappings.count == 1, Set(mapping.entities) == [entity] else {
            return "it is renamed, removed or split"
        }
        guard mapping.keepsPrimaryKey else { return "its objects get new keys" }
        return mapping.filter == nil ? nil : "some of its objects can be left out"
    }

    /// A many-to-many relationship of the source, whose links are remembered by its name, that is not in the new version.
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
            "The store mirrors its objects to CloudKit, and what it remembers of the records of \(entity) there would "
                + "name nothing: \(problem).",
            remedy: "Let the app migrate this store.", place: .init(entity: entity))
    }
}

extension HistoryTables {
    /// How the changes of each entity read in the new store whose objects keep their keys; others name nothing there.
    package static func translations(
        by step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [Translation] {
        var known: Set<String> = []
        return step.entityMappings.filter { $0.keepsPrimaryKey && known.insert($0.source).inserted }
            .compactMap { translation(of: $0.entities, in: step.versions.map(\.model), source, destination) }
    }

    /// Columns that the changes table lacks for any of a step's versions.
    package func missingTombstones(for step: ResolvedStep) -> [String] {
        step.versions.dropFirst().map { missingTombstones(for: $0.model) }.max { $0.count < $1.count } ?? []
    }
}
