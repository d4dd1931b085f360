package import FerryBase
internal import FerryMapping
internal import FerryModel

extension MigrationPlan {
    /// The losses of a later pass over the rows by themselves, under the names of its own source version, each with the
    /// properties of the store that have become what it loses; uncounted.
    package func losses(ofPass number: Int) -> [(loss: ChainLoss, properties: Set<StoredProperty>)] {
        Ledger(steps.map(\.resolved), versions: steps.map(\.resolved.destination.name)).losses(ofPass: number)
    }

    /// The properties that do not keep their name and entity through all versions, in the order of their names.
    package var lineages: [PropertyLineage] {
        let resolved = steps.flatMap(\.singles)
        guard let model = resolved.first?.source.model else { return [] }
        let carriers = resolved.map { StepCarriers($0) }
        var lineages: [PropertyLineage] = []
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            for name in model.storedProperties(of: entity).sorted() {
                let property = StoredProperty(entity: entity, property: name)
                let stops = Self.stops(of: property, carriers)
                if !stops.isEmpty { lineages.append(.init(property: property.name, stops: stops)) }
            }
        }
        return lineages
    }

    private static func stops(of property: StoredProperty, _ all: [StepCarriers]) -> [PropertyLineage.Stop] {
        let way = all.way(of: property)
        return zip(zip(way, way.dropFirst()), all).compactMap { properties, carriers in
            let (now, next) = properties
            guard next != now else { return nil }
            return PropertyLineage.Stop(
                version: carriers.step.destination.name, properties: Set(next.map(\.name)).sorted(),
                isByPolicy: next.isEmpty && now.contains { carriers.policy(of: $0) != nil })
        }
    }
}
