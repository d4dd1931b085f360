internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Columns with values that an unfinished attempt left in a store, and which a migration takes over.
///
/// The store's version gets the properties of these columns, under the version's own hashes: plan, statements and
/// verification then read them like its other properties.
struct Adoption {
    private(set) var version: ModelVersion
    private(set) var warnings: [FerryWarning] = []

    /// Finds the columns of a store that are in no model, but have the name and the type of a new property's.
    init(of version: ModelVersion, into target: ModelVersion, on connection: Connection) throws {
        self.version = version
        let layout = try StoreLayout.actual(for: version.model, on: connection)
        // Without its layout, the target is refused where its tables are planned.
        guard StoreLayout.refusals(for: target.model, foundTriggers: .of(layout)).isEmpty else { return }
        let new = try StoreLayout.canonical(for: target.model, foundTriggers: .of(layout))
        for leftover in try Leftover.all(in: layout, on: connection) {
            guard let place = AdoptedPlace(of: leftover, layout, new),
                let count = try leftover.count(on: connection), count > 0
            else { continue }
            let values = count.counting(leftover.kind == .table ? "row" : "value")
            let obstacle = take(place)
            let result =
                obstacle.map { ", with \(values), is not taken over: \($0)." }
                ?? ", left by an unfinished attempt, becomes \(place.name) with \(values), as requested."
            warnings.append(
                FerryWarning(
                    obstacle == nil ? .adopted : .notAdopted, leftover.name + result,
                    about: .init(entity: place.entity, property: place.property)))
        }
    }

    /// Adds a column's property to the version; returns the reason if it cannot be added.
    private mutating func take(_ place: AdoptedPlace) -> String? {
        var model = version.model
        switch place.what {
        case .obstacle(let reason): return reason
        case .attribute(var attribute):
            // The column was added to rows that had no value for it.
            attribute.isOptional = true
            model.change(place.entity) { $0.attributes.append(attribute) }
        case .relationship(var relationship, var inverse):
            relationship.isOptional = true
            inverse?.isOptional = true
            model.change(place.entity) { $0.relationships.append(relationship) }
            if let inverse { model.change(relationship.destinationEntity) { $0.relationships.append(inverse) } }
        }
        version.model = model
        return nil
    }
}

/// The new property that a leftover's column has the name of, in the terms of the old version.
private struct AdoptedPlace {
    enum What {
        case attribute(Attribute)
        case relationship(Relationship, inverse: Relationship?)
        case obstacle(String)
    }

    /// The old version's entity; for a table, the new version's.
    let entity: String
    let property: String?
    let what: What

    var name: String { property.map { "\(entity).\($0)" } ?? entity }

    /// Nil if the new version has no table or column of that name.
    init?(of leftover: Leftover, _ old: StoreLayout, _ new: StoreLayout) {
        let entities = old.model.sortedEntityNames.filter { old.table(of: $0)?.name == leftover.table }
        let heirs = entities.compactMap { entity in new.model.heir(of: entity).map { (entity, heir: $0) } }
        guard let place = new.place(of: leftover, heirs: heirs.map(\.heir.name)) else { return nil }
        guard let property = place.property, let (entity, heir) = heirs.first(where: { $0.heir.name == place.entity })
        else {
            let name = place.property.map { "the relationship \(place.entity).\($0)" } ?? "the entity \(place.entity)"
            (self.entity, self.property) = (place.entity, place.property)
            self.what = .obstacle("the store's version does not have \(name)")
            return
        }
        let column = old.table(of: entity)?.columns.first { $0.name == leftover.part }
        what =
            if let attribute = heir.attributes.first(where: { $0.name == property }) {
                Self.attribute(attribute, entity, heir, column, old, new)
            } else if let relationship = heir.relationships.first(where: { $0.name == property }) {
                Self.relationship(relationship, entity, heir, old, new)
            } else {
                .obstacle("\(property) is inherited, or an element of a composite attribute")
            }
        (self.entity, self.property) = (entity, property)
    }

    private static func attribute(
        _ attribute: Attribute, _ entity: String, _ heir: Entity, _ column: Column?, _ old: StoreLayout,
        _ new: StoreLayout
    ) -> What {
        let type = new.column(of: attribute.name, in: heir.name)?.type ?? ""
        if let reason = obstacle(attribute.name, attribute.renamingIdentifier, entity, old.model) {
            return .obstacle(reason)
        }
        if attribute.isDerived { return .obstacle("the store computes \(attribute.name) itself") }
        guard column?.type.uppercased() == type.uppercased() else {
            return .obstacle("the column has the type \(column?.type ?? ""), and \(attribute.name) has \(type)")
        }
        return .attribute(attribute)
    }

    private static func relationship(
        _ relationship: Relationship, _ entity: String, _ heir: Entity, _ old: StoreLayout, _ new: StoreLayout
    ) -> What {
        if let reason = obstacle(relationship.name, relationship.renamingIdentifier, entity, old.model) {
            return .obstacle(reason)
        }
        let key = PropertyKey(heir.name, relationship.name)
        guard case .foreignKey(_, _, nil, nil) = new.relationshipStorage[key] else {
            return .obstacle("the links of \(relationship.name) take more than this column")
        }
        var taken = relationship
        guard let destination = new.model.ancestor(of: relationship.destinationEntity, in: old.model) else {
            return .obstacle("the store's version does not have the entity \(relationship.destinationEntity)")
        }
        taken.destinationEntity = destination
        guard let name = relationship.inverseName else { return .relationship(taken, inverse: nil) }
        guard var inverse = new.model.relationship(name, of: relationship.destinationEntity), inverse.isToMany,
            new.model.entities[relationship.destinationEntity]?.relationships.contains(inverse) == true
        else { return .obstacle("its inverse \(name) is to-one, or inherited") }
        if let reason = obstacle(name, inverse.renamingIdentifier, destination, old.model) { return .obstacle(reason) }
        taken.inverseEntity = taken.inverseEntity == nil ? nil : destination
        inverse.destinationEntity = entity
        inverse.inverseEntity = inverse.inverseEntity == nil ? nil : entity
        return .relationship(taken, inverse: inverse)
    }

    /// The reason why a property cannot come from a column of its own name.
    private static func obstacle(
        _ property: String, _ identifier: String?, _ entity: String, _ model: ManagedObjectModel
    ) -> String? {
        let has = { (name: String) in
            model.attribute(name, of: entity) != nil || model.relationship(name, of: entity) != nil
        }
        if let identifier, identifier != property, has(identifier) {
            return "\(property) gets the values of \(entity).\(identifier)"
        }
        return has(property) ? "\(entity).\(property) has values of its own" : nil
    }
}

extension ManagedObjectModel {
    /// The entity of this version that continues one of an older version: by its name, else by its renaming identifier.
    fileprivate func heir(of entity: String) -> Entity? {
        entities[entity] ?? sortedEntityNames.lazy.compactMap { entities[$0] }.first { $0.renamingIdentifier == entity }
    }

    /// The name of the entity of an older version that an entity continues.
    fileprivate func ancestor(of entity: String, in old: ManagedObjectModel) -> String? {
        if let identifier = entities[entity]?.renamingIdentifier, old.entities[identifier] != nil { return identifier }
        return old.entities[entity] == nil ? nil : entity
    }
}
