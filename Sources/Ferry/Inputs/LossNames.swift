internal import FerryBase
internal import FerryModel

/// The names that may be allowed as losses: entities, and properties as `Entity.property`, of the known versions.
///
/// A name is also taken if this store does not lose it: one command serves stores of several versions.
enum LossNames {
    static func check(_ names: Set<String>, in versions: [ModelVersion]) throws(FerryError) {
        guard let name = names.sorted().first(where: { !isKnown($0, in: versions) }) else { return }
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        let models = versions.map(\.model)
        let entities = Set(models.flatMap(\.sortedEntityNames))
        var candidates = entities
        if parts.count == 2, entities.contains(parts[0]) {
            candidates = Set(models.flatMap { properties(of: parts[0], in: $0).map { "\(parts[0]).\($0)" } })
        } else if parts.count == 2 {
            candidates = Set(NearNames.near(to: parts[0], among: entities).map { "\($0).\(parts[1])" })
        }
        throw FerryError(
            .usage, "\(name) was given as a loss, but no model has an entity or a property of that name.",
            remedy: NearNames.remedy(
                for: name, among: candidates,
                otherwise: "Name an entity, or a property as Entity.property; the plan lists what is lost."))
    }

    private static func isKnown(_ name: String, in versions: [ModelVersion]) -> Bool {
        // Parts of the history belong to no model.
        if name.hasPrefix("ACHANGE.") { return true }
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        return versions.contains { version in
            guard let entity = parts.first, version.model.entities[entity] != nil else { return false }
            return parts.count == 1 || properties(of: entity, in: version.model).contains(parts[1])
        }
    }

    private static func properties(of entity: String, in model: ManagedObjectModel) -> Set<String> {
        guard model.entities[entity] != nil else { return [] }
        return Set(
            model.attributes(of: entity).map(\.name) + model.leaves(of: entity).map(\.name)
                + model.relationships(of: entity).map(\.name))
    }
}
