import FerryModel

/// The properties of a chain's last version that continue a property of the first, through every version between them.
///
/// A property that an intermediate version lacks is lost, also if a later version has its name again.
struct ContinuedProperties {
    private let matchings: [ModelMatching]
    let older: ManagedObjectModel
    let newer: ManagedObjectModel

    /// - Parameter chain: At least one version; with one version every property continues itself.
    init(_ chain: [ModelVersion]) {
        let models = chain.map(\.model)
        let next = models.count == 1 ? models : Array(models.dropFirst())
        matchings = zip(models, next).map { ModelMatching(source: $0, destination: $1) }
        (older, newer) = (models[0], models[models.count - 1])
    }

    /// Returns the entity of the first version that an entity of the last version continues.
    func entity(_ name: String) -> String? {
        matchings.reversed().reduce(name) { name, matching in name.flatMap { matching.sourceEntities[$0] } }
    }

    func attribute(_ name: String, of entity: String) -> Attribute? {
        var place: (entity: String, name: String)? = (entity, name)
        var found = newer.attribute(name, of: entity)
        for matching in matchings.reversed() {
            guard let (entity, name) = place, let type = found?.type else { return nil }
            found = matching.sourceAttribute(of: name, in: entity)
            // Other tests compare converted values.
            guard let attribute = found, attribute.type == type, !attribute.isTransient, !attribute.isDerived else {
                return nil
            }
            place = matching.sourceEntities[entity].map { ($0, attribute.name) }
        }
        return found
    }

    func relationship(_ name: String, of entity: String) -> Relationship? {
        var place: (entity: String, name: String)? = (entity, name)
        var found: Relationship?
        for matching in matchings.reversed() {
            guard let (entity, name) = place else { return nil }
            found = matching.sourceRelationship(of: name, in: entity)
            guard let relationship = found, !relationship.isTransient else { return nil }
            place = matching.sourceEntities[entity].map { ($0, relationship.name) }
        }
        return found
    }
}
