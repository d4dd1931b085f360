internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The numbers of related objects that the new version allows, which verification of the new store checks too.
extension Preflight {
    /// Warns about objects that have fewer or more related objects than the new version allows.
    mutating func findWrongCounts(_ checks: RowChecks) throws {
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            guard let place = checks.rows(of: mapping.source) else { continue }
            for relationship in step.resolved.destination.model.relationships(of: mapping.destination)
            where relationship.isToMany && !relationship.isTransient {
                guard let limits = RelationshipLimits(relationship),
                    let source = origin(of: relationship, in: mapping),
                    let storage = layout.storage(of: source.name, in: mapping.source),
                    let query = limits.violations(of: storage, by: place.table, where: "a.Z_ENT = \(place.number)")
                else { continue }
                let isOld = RelationshipLimits(source) == limits
                // What stays as it is is not counted.
                guard !isOld || planned.checks(place.table) else { continue }
                let count = try connection.integer(query) ?? 0
                guard count > 0 else { continue }
                if isOld { noteKept(.wrongCount, mapping.source, source.name, rows: count) }
                let allowing = isOld ? "the store's own version" : "\(mapping.destination).\(relationship.name)"
                warn(
                    .wrongCount,
                    "\(mapping.source).\(source.name) has too few or too many objects in \(count.counting("row")): "
                        + "\(allowing) allows \(limits.words). The app must correct it before it saves these objects.",
                    about: .init(entity: mapping.source, property: source.name, entityMapping: mapping.name))
            }
        }
    }

    /// The relationship of the source whose links a relationship takes over, by a rule of its own or of its inverse.
    private func origin(of relationship: Relationship, in mapping: ResolvedEntityMapping) -> Relationship? {
        let old = layout.model
        if let name = mapping.relationships.first(where: { $0.name == relationship.name })?.sourceRelationship {
            return old.relationship(name, of: mapping.source)
        }
        for other in step.resolved.entityMappings
        where step.resolved.destination.model.isKind(other.destination, of: relationship.destinationEntity) {
            guard let rule = other.relationships.first(where: { $0.name == relationship.inverseName }),
                rule.mappings.contains(mapping.name), let name = rule.sourceRelationship,
                let back = old.relationship(name, of: other.source)?.inverseName
            else { continue }
            return old.relationship(back, of: mapping.source)
        }
        return nil
    }
}
