internal import FerryGenerate
package import FerryModel

/// A model that changes at random; the seed alone decides.
package struct RandomVersions {
    /// The number of attempts to add something to the first version; some names are taken.
    package struct Size: Sendable {
        package var entities: Int
        package var relationships: Int
        package var attributes: Int

        package init(entities: Int = 3, relationships: Int = 3, attributes: Int = 4) {
            self.entities = entities
            self.relationships = relationships
            self.attributes = attributes
        }
    }

    private var random: SeededRandom
    var entities: [String: Entity] = [:]
    var names = 0
    /// The number of names of each kind.
    private let variety: Int

    package init(seed: UInt64, size: Size = Size()) {
        random = SeededRandom(seed)
        variety = max(6, 2 * size.entities)
        for _ in 0..<size.entities { addEntity() }
        for _ in 0..<size.relationships { addRelationship() }
        for _ in 0..<size.attributes { addAttribute() }
    }

    /// Returns the model and its successors; each must be usable after the one before it.
    package mutating func models(
        _ count: Int, isUsable: (ManagedObjectModel, ManagedObjectModel) -> Bool
    ) -> [ManagedObjectModel] {
        var models = [model]
        while models.count < count { models.append(next(after: models[models.count - 1], isUsable: isUsable)) }
        return models
    }

    /// Returns a usable successor of the model at hand.
    mutating func next(
        after last: ManagedObjectModel, isUsable: (ManagedObjectModel, ManagedObjectModel) -> Bool,
        changing further: (inout Self) -> Void = { _ in }
    ) -> ManagedObjectModel {
        while true {
            let before = self
            for _ in 0..<(1 + pick(3)) { change() }
            further(&self)
            guard isUsable(last, model) else {
                // A change that is not usable is undone; the generator then draws another one.
                (entities, names) = (before.entities, names)
                continue
            }
            let next = model
            forgetIdentifiers()
            return next
        }
    }

    var model: ManagedObjectModel {
        ManagedObjectModel(versionIdentifiers: [""], entities: Array(entities.values))
    }

    private mutating func change() {
        switch pick(20) {
        case 0, 1, 2, 3: addAttribute()
        case 4, 5: changeAttribute { entity, index in entity.attributes.remove(at: index) }
        case 6, 7: renameAttribute()
        case 8: changeAttribute { $0.attributes[$1].isOptional.toggle() }
        case 9:
            changeAttribute { $0.attributes[$1].type = $0.attributes[$1].type == .integer16 ? .integer32 : .integer64 }
        case 10: addEntity()
        case 11: if entities.count > 2 { removeEntity() }
        case 12, 13: renameEntity()
        case 14, 15: addRelationship()
        case 16: removeRelationship()
        case 17: changeRelationship { $0.isOrdered.toggle() }
        case 18: changeRelationship { $0.maxCount = 0 }
        default: toggleIndex()
        }
    }

    // MARK: Choices

    mutating func pick(_ bound: Int) -> Int { Int(random.below(Int64(bound))) }

    var sortedNames: [String] { entities.keys.sorted() }

    mutating func anyEntity() -> String {
        let sorted = sortedNames
        return sorted[pick(sorted.count)]
    }

    /// Returns one of a few names, so that names are used again.
    private mutating func name(_ prefix: String) -> String { "\(prefix)\(pick(variety))" }

    // MARK: Attributes

    private mutating func addAttribute() {
        let (entity, name) = (anyEntity(), name("a"))
        guard isFree(name, in: entity) else { return }
        let types: [AttributeType] = [.string, .integer16, .integer32, .double, .boolean, .date, .binary]
        let type = types[pick(types.count)]
        var attribute = Attribute(name: name, type: type, isOptional: pick(3) > 0)
        if type != .binary, !attribute.isOptional || pick(2) == 0 { attribute.defaultValue = value(of: type) }
        if attribute.defaultValue == nil { attribute.isOptional = true }
        entities[entity]?.attributes.append(attribute)
    }

    private mutating func value(of type: AttributeType) -> DefaultValue {
        switch type {
        case .string: .text("d\(pick(9))")
        case .double, .date: .real(Double(pick(9)) + 0.5)
        case .boolean: .integer(1)
        default: .integer(Int64(pick(9)))
        }
    }

    mutating func changeAttribute(_ body: (inout Entity, Int) -> Void) {
        let name = anyEntity()
        guard var entity = entities[name], !entity.attributes.isEmpty else { return }
        let index = pick(entity.attributes.count)
        body(&entity, index)
        if index < entity.attributes.count, !entity.attributes[index].isOptional,
            entity.attributes[index].defaultValue == nil
        {
            guard entity.attributes[index].type != .binary else { return }
            entity.attributes[index].defaultValue = value(of: entity.attributes[index].type)
        }
        dropIndexes(&entity)
        entities[name] = entity
    }

    private mutating func renameAttribute() {
        let new = name("a")
        let name = anyEntity()
        guard isFree(new, in: name), var entity = entities[name], !entity.attributes.isEmpty else { return }
        let index = pick(entity.attributes.count)
        guard entity.attributes[index].renamingIdentifier == nil else { return }
        entity.attributes[index].renamingIdentifier = entity.attributes[index].name
        entity.attributes[index].name = new
        dropIndexes(&entity)
        entities[name] = entity
    }

    /// Returns whether no property of the entity, its ancestors and descendants has the name.
    func isFree(_ name: String, in entity: String) -> Bool {
        let model = model
        return model.entities.values.allSatisfy { other in
            guard model.root(of: other.name) == model.root(of: entity) else { return true }
            return !other.attributes.contains { $0.name == name } && !other.relationships.contains { $0.name == name }
        }
    }

    // MARK: Entities

    private mutating func addEntity() {
        let name = name("E")
        guard entities[name] == nil else { return }
        let parent = !entities.isEmpty && pick(3) == 0 ? anyEntity() : nil
        entities[name] = Entity(name: name, superentity: parent, attributes: [])
        names += 1
        let attribute = "own\(names)"
        entities[name]?.attributes = [Attribute(name: attribute, type: .string, isOptional: true)]
    }

    mutating func removeEntity() {
        let name = anyEntity()
        guard !entities.values.contains(where: { $0.superentity == name }) else { return }
        for (other, entity) in entities {
            for relationship in entity.relationships where relationship.destinationEntity == name {
                let gone = relationship.name
                entities[other]?.relationships.removeAll { $0.name == gone }
            }
        }
        entities[name] = nil
    }

    private mutating func renameEntity() {
        let (old, new) = (anyEntity(), name("E"))
        guard entities[new] == nil, var entity = entities[old], entity.renamingIdentifier == nil else { return }
        entity.name = new
        entity.renamingIdentifier = old
        entities[old] = nil
        entities[new] = entity
        for (name, var other) in entities {
            if other.superentity == old { other.superentity = new }
            for index in other.relationships.indices {
                if other.relationships[index].destinationEntity == old {
                    other.relationships[index].destinationEntity = new
                    other.relationships[index].inverseEntity = new
                }
            }
            entities[name] = other
        }
    }

    // MARK: Relationships

    private mutating func addRelationship() {
        let (one, other) = (anyEntity(), anyEntity())
        let (name, inverse) = (name("r"), name("s"))
        guard isFree(name, in: one), isFree(inverse, in: other) else { return }
        let isToMany = (pick(3) == 0, pick(2) == 0)
        add(name, to: one, leadingTo: other, inverse: inverse, isToMany: isToMany.0)
        add(inverse, to: other, leadingTo: one, inverse: name, isToMany: isToMany.1)
    }

    mutating func add(
        _ name: String, to entity: String, leadingTo other: String, inverse: String, isToMany: Bool
    ) {
        let isOrdered = isToMany && pick(4) == 0
        entities[entity]?.relationships.append(
            Relationship(
                name: name, destinationEntity: other, inverseName: inverse, inverseEntity: other, isOptional: true,
                isOrdered: isOrdered, maxCount: isToMany ? 0 : 1))
    }

    private mutating func removeRelationship() {
        let name = anyEntity()
        guard let relationship = entities[name]?.relationships.first else { return }
        entities[name]?.relationships.removeFirst()
        let inverse = relationship.inverseName
        entities[relationship.destinationEntity]?.relationships.removeAll { $0.name == inverse }
    }

    mutating func changeRelationship(_ body: (inout Relationship) -> Void) {
        let name = anyEntity()
        guard var relationships = entities[name]?.relationships, !relationships.isEmpty else { return }
        let index = pick(relationships.count)
        body(&relationships[index])
        if !relationships[index].isToMany { relationships[index].isOrdered = false }
        entities[name]?.relationships = relationships
    }

    // MARK: Indexes

    private mutating func toggleIndex() {
        let name = anyEntity()
        guard var entity = entities[name], let attribute = entity.attributes.first else { return }
        entity.fetchIndexes =
            entity.fetchIndexes.isEmpty
            ? [FetchIndex(name: "by", elements: [.init(property: attribute.name)])] : []
        entities[name] = entity
    }

    private func dropIndexes(_ entity: inout Entity) { entity.fetchIndexes = [] }

    /// Removes the renaming identifiers: only the version that renames has them.
    private mutating func forgetIdentifiers() {
        for name in sortedNames {
            guard var entity = entities[name] else { continue }
            entity.renamingIdentifier = nil
            for index in entity.attributes.indices { entity.attributes[index].renamingIdentifier = nil }
            entities[name] = entity
        }
    }
}
