internal import FerryMapping
internal import FerryModel

/// What a chain of steps takes from the rows of the version that it begins with.
///
/// A property is lost where no step has an heir of it any more. What a migration policy has in its hands counts as kept:
/// only its code tells.
struct LossTrace {
    private let flows: [PropertyFlow]

    init(_ steps: [ResolvedStep]) { flows = steps.map(PropertyFlow.init) }

    /// What is lost, each with the place of the step that loses it.
    ///
    /// Entities are told without their properties.
    func losses() -> [StoredProperty: Int] {
        guard let model = flows.first?.step.source.model else { return [:] }
        var losses: [StoredProperty: Int] = [:]
        for entity in model.sortedEntityNames where model.entities[entity]?.isAbstract == false {
            if let step = end(of: entity) {
                losses[StoredProperty(entity: entity, property: nil)] = step
                continue
            }
            for name in Self.stored(of: entity, in: model) {
                let property = StoredProperty(entity: entity, property: name)
                if let step = end(of: property) { losses[property] = step }
            }
        }
        return losses
    }

    /// The properties of an entity's rows that hold what nothing else tells.
    static func stored(of entity: String, in model: ManagedObjectModel) -> [String] {
        model.leaves(of: entity).filter { !$0.isTransient && !model.isComputedByStore($0, of: entity) }.map(\.name)
            + model.relationships(of: entity).filter { !$0.isTransient }.map(\.name)
    }

    /// The step after which nothing is left of an entity's objects; nil when something is in the end.
    private func end(of entity: String) -> Int? {
        var entities: Set<String> = [entity]
        for (index, flow) in flows.enumerated() {
            if !flow.inCode.isDisjoint(with: entities) { return nil }
            entities = entities.reduce(into: []) { $0.formUnion(flow.destinations(of: $1)) }
            if entities.isEmpty { return index }
        }
        return nil
    }

    private func end(of property: StoredProperty) -> Int? {
        var heirs: Set<StoredProperty> = [property]
        for (index, flow) in flows.enumerated() {
            if heirs.contains(where: flow.isInCode) { return nil }
            heirs = heirs.reduce(into: []) { $0.formUnion(flow.heirs(of: $1)) }
            if heirs.isEmpty { return index }
        }
        return nil
    }
}
