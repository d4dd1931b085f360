package import FerryModel

extension RandomVersions {
    /// Returns the model and its successors.
    ///
    /// Those of `inferring` can be inferred from the one before; the others need a mapping, since types and kinds change,
    /// entities go, and new ones take parts of others.
    package mutating func wideModels(_ count: Int, inferring: Set<Int>) -> [ManagedObjectModel] {
        for _ in 0..<6 { addWideAttribute() }
        let holder = anyEntity()
        if isFree("json", in: holder) {
            entities[holder]?.attributes.append(Attribute(name: "json", type: .string, isOptional: true))
        }
        var models = [model]
        while models.count < count {
            let isInferred = inferring.contains(models.count)
            models.append(
                next(
                    after: models[models.count - 1],
                    isUsable: { one, other in
                        isInferred
                            ? Self.canInfer(from: one, to: other)
                            : VersionHash.hashes(of: one) != VersionHash.hashes(of: other)
                    }, changing: { if !isInferred { $0.widen() } }))
        }
        return models
    }

    private mutating func widen() {
        for _ in 0..<4 { addWideAttribute() }
        for _ in 0..<2 { changeType() }
        if pick(2) == 0 {
            changeRelationship {
                $0.maxCount = 1
                $0.isOrdered = false
            }
        }
        if pick(3) == 0, entities.count > 3 { removeEntity() }
        addPart()
    }

    private static let wideTypes: [AttributeType] = [
        .string, .string, .string, .integer64, .integer32, .double, .float, .decimal, .boolean, .date, .binary,
    ]

    private mutating func addWideAttribute() {
        names += 1
        let type = Self.wideTypes[pick(Self.wideTypes.count)]
        entities[anyEntity()]?.attributes.append(Attribute(name: "w\(names)", type: type, isOptional: true))
    }

    private mutating func changeType() {
        let type = Self.wideTypes[pick(Self.wideTypes.count)]
        changeAttribute { entity, index in
            guard entity.attributes[index].isOptional, entity.attributes[index].name != "json" else { return }
            entity.attributes[index].type = type
            entity.attributes[index].defaultValue = nil
        }
    }

    /// Adds an entity for parts of another one's objects, which it is related to.
    private mutating func addPart() {
        let (owner, piece) = (anyEntity(), anyEntity())
        names += 1
        let name = "P\(names)"
        entities[name] = Entity(
            name: name,
            attributes: [
                Attribute(name: "text\(names)", type: .string, isOptional: true),
                Attribute(name: "number\(names)", type: .integer64, isOptional: true),
                Attribute(name: "place\(names)", type: .integer64, isOptional: true),
            ])
        add("owner\(names)", to: name, leadingTo: owner, inverse: "parts\(names)", isToMany: false)
        add("parts\(names)", to: owner, leadingTo: name, inverse: "owner\(names)", isToMany: true)
        add("piece\(names)", to: name, leadingTo: piece, inverse: "places\(names)", isToMany: false)
        add("places\(names)", to: piece, leadingTo: name, inverse: "piece\(names)", isToMany: true)
    }
}

extension ManagedObjectModel {
    /// The attributes of every object by which an object that is made of it can be told: its own mark, and that of the
    /// element of an iteration.
    package static let marks = ["mark", "mark2"]

    /// The same model with marks.
    package var marked: ManagedObjectModel {
        var model = self
        for name in sortedEntityNames where entities[name]?.superentity == nil {
            model.change(name) { entity in
                entity.attributes += Self.marks.map { Attribute(name: $0, type: .string, isOptional: true) }
            }
        }
        return model
    }
}
