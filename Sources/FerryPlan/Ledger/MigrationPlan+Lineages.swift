package import FerryBase
internal import FerryMapping
internal import FerryModel

extension MigrationPlan {
    /// The properties that do not keep their name and entity through all versions, in the order of their names.
    package var lineages: [PropertyLineage] {
        let resolved = steps.flatMap { $0.parts.isEmpty ? [$0.resolved] : $0.parts.map(\.resolved) }
        guard let model = resolved.first?.source.model else { return [] }
        let all = resolved.map { (carriers: StepCarriers($0), version: $0.destination.name) }
        var lineages: [PropertyLineage] = []
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            for name in model.storedProperties(of: entity).sorted() {
                let property = StoredProperty(entity: entity, property: name)
                let stops = Self.stops(of: property, all)
                if !stops.isEmpty { lineages.append(.init(property: property.name, stops: stops)) }
            }
        }
        return lineages
    }

    private static func stops(
        of property: StoredProperty, _ all: [(carriers: StepCarriers, version: String)]
    ) -> [PropertyLineage.Stop] {
        var stops: [PropertyLineage.Stop] = []
        var now: Set<StoredProperty> = [property]
        for (carriers, version) in all {
            let next = carriers.continuations(of: now)
            if next.isEmpty, now.contains(where: { carriers.policy(of: $0) != nil }) {
                stops.append(.init(version: version, properties: [], isByPolicy: true))
                return stops
            }
            if next != now {
                stops.append(.init(version: version, properties: Set(next.map(\.name)).sorted(), isByPolicy: false))
            }
            if next.isEmpty { return stops }
            now = next
        }
        return stops
    }
}
