internal import FerryMapping
internal import FerryModel

/// The way of a property through a chain of versions: the properties that its values reach.
package struct Lineage: Sendable, Hashable {
    package struct Stop: Sendable, Hashable {
        /// The name of the version.
        package var version: String
        /// The properties that continue it there; empty if it ends.
        package var properties: [String]
        /// Whether a migration policy decides, so that nothing more is known.
        package var isByPolicy: Bool
    }

    /// The property in the first version, as `Entity.property`.
    package var property: String
    /// The versions in which it changes its name or entity, is divided, joined or lost, in their order.
    package var stops: [Stop]
}

extension MigrationPlan {
    /// The properties that do not keep their name and entity through all versions, in the order of their names.
    package var lineages: [Lineage] {
        let resolved = steps.flatMap { $0.parts.isEmpty ? [$0.resolved] : $0.parts.map(\.resolved) }
        guard let model = resolved.first?.source.model else { return [] }
        let flows = resolved.map { (flow: PropertyFlow($0), version: $0.destination.name) }
        var lineages: [Lineage] = []
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            for name in LossTrace.stored(of: entity, in: model).sorted() {
                let property = StoredProperty(entity: entity, property: name)
                let stops = Self.stops(of: property, flows)
                if !stops.isEmpty { lineages.append(Lineage(property: property.name, stops: stops)) }
            }
        }
        return lineages
    }

    private static func stops(
        of property: StoredProperty, _ flows: [(flow: PropertyFlow, version: String)]
    ) -> [Lineage.Stop] {
        var stops: [Lineage.Stop] = []
        var now: Set<StoredProperty> = [property]
        for (flow, version) in flows {
            if now.contains(where: flow.isHandledByPolicy) {
                stops.append(.init(version: version, properties: [], isByPolicy: true))
                return stops
            }
            let next = now.reduce(into: Set<StoredProperty>()) { $0.formUnion(flow.continuations(of: $1)) }
            if next != now {
                stops.append(.init(version: version, properties: next.map(\.name).sorted(), isByPolicy: false))
            }
            if next.isEmpty { return stops }
            now = next
        }
        return stops
    }
}
