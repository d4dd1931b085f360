package import FerryBase

/// Writes a model in the form of a store's model cache; keys such as `_P` follow real archives.
struct ArchivedModelEncoder {
    private let model: ManagedObjectModel
    private var archive = KeyedArchiveWriter()
    private var root = KeyedArchiveWriter.null
    private var entities: [String: PropertyTree] = [:]
    /// By entity name, then by property name.
    private var properties: [String: [String: PropertyTree]] = [:]

    private static let description = ["NSPropertyDescription", "NSObject"]

    init(_ model: ManagedObjectModel) { self.model = model }

    mutating func encoded() throws(FerryError) -> [UInt8] {
        root = archive.reserve()
        let names = model.sortedEntityNames
        for name in names { entities[name] = archive.reserve() }
        let ordered = names.compactMap { model.entities[$0] }
        for entity in ordered {
            for name in propertyNames(of: entity.name) {
                properties[entity.name, default: [:]][name] = archive.reserve()
            }
        }
        for entity in ordered { try write(entity) }
        archive.fill(root, ["NSManagedObjectModel", "NSObject"], modelValues(names))
        return archive.encoded(root: root)
    }

    private mutating func modelValues(_ names: [String]) -> [String: PropertyTree] {
        let keys = archive.array(names.map { archive.text($0) })
        let mapping = archive.object(
            ["NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy", "NSObject"],
            ["keys": keys, "length": .integer(Int64(names.count)), "version": .integer(1)])
        let lineage = [
            "NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary", "NSObject",
        ]
        let entityList = archive.object(
            lineage,
            [
                "searchMapping": mapping, "values": archive.array(names.map { reference($0) }),
                // The placeholder of a key without a value; a model has none.
                "emptyToken": archive.text("__empty_slot_token_4c24_98dc_ac1e_b773__"), "version": .integer(1),
            ])
        var values: [String: PropertyTree] = [
            "NSEntities": entityList, "NSFetchRequestTemplates": KeyedArchiveWriter.null,
            "NSVersionIdentifiers": archive.set(model.versionIdentifiers.map { archive.text($0) }),
        ]
        if !model.configurations.isEmpty {
            var sets: [String: PropertyTree] = [:]
            for (name, members) in model.configurations.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
                sets[name] = archive.set(members.map { reference($0) })
            }
            values["NSConfigurations"] = archive.dictionary(sets)
        }
        return values
    }

    private var known: (String, String?) -> PropertyTree {
        { [entities, properties] entity, property in
            let object = property.map { properties[entity]?[$0] } ?? entities[entity]
            return object ?? KeyedArchiveWriter.null
        }
    }

    private func reference(_ entity: String?) -> PropertyTree {
        entity.flatMap { entities[$0] } ?? KeyedArchiveWriter.null
    }

    /// Returns all property names, inherited ones too; of fetched properties only those with a known request.
    private func propertyNames(of entity: String) -> [String] {
        model.attributes(of: entity).map(\.name) + model.relationships(of: entity).map(\.name)
            + fetchedProperties(of: entity).map(\.name)
    }

    private func fetchedProperties(of entity: String) -> [FetchedProperty] {
        model.lineage(of: entity).flatMap { $0.fetchedProperties.filter { $0.archived != nil } }
    }

    // MARK: Entities

    private mutating func write(_ entity: Entity) throws(FerryError) {
        var own: [String: PropertyTree] = [:]
        for attribute in model.attributes(of: entity.name) {
            let values = try values(of: attribute, entity.name)
            own[attribute.name] = fill(attribute.name, of: entity.name, Self.lineage(of: attribute), values)
        }
        for relationship in model.relationships(of: entity.name) {
            own[relationship.name] = write(relationship, of: entity.name)
        }
        for fetched in fetchedProperties(of: entity.name) {
            if let archived = fetched.archived { own[fetched.name] = write(fetched.name, archived, of: entity.name) }
        }
        var subentities: [String: PropertyTree] = [:]
        for name in model.subentities(of: entity.name) { subentities[name] = reference(name) }
        var values: [String: PropertyTree] = [
            "NSEntityName": archive.text(entity.name), "NSClassNameForEntity": archive.text(entity.className),
            "NSManagedObjectModel": root, "NSProperties": archive.dictionary(own),
            "NSRenamingIdentifier": archive.text(entity.renamingIdentifier ?? entity.name),
            "NSSubentities": archive.dictionary(subentities), "NSSuperentity": reference(entity.superentity),
            "NSUserInfo": userInfo(entity.userInfo),
            "NSVersionHashModifier": archive.text(entity.versionHashModifier),
        ]
        if entity.isAbstract { values["NSIsAbstract"] = .bool(true) }
        if !entity.uniquenessConstraints.isEmpty { values["NSUniqueTuples"] = lists(entity.uniquenessConstraints) }
        if !entity.fetchIndexes.isEmpty || !entity.compoundIndexes.isEmpty {
            values["NSCompoundIndexes"] = lists(entity.compoundIndexes)
        }
        if !entity.fetchIndexes.isEmpty {
            values["NSFetchIndexDescriptions"] = archive.array(
                try entity.fetchIndexes.map { index throws(FerryError) in try write(index, of: entity.name) })
        }
        guard let reserved = entities[entity.name] else { return }
        archive.fill(reserved, ["NSEntityDescription", "NSObject"], values)
    }

    private mutating func lists(_ lists: [[String]]) -> PropertyTree {
        archive.array(lists.map { list in archive.array(list.map { archive.text($0) }) })
    }

    private mutating func userInfo(_ info: [String: String]) -> PropertyTree {
        var texts: [String: PropertyTree] = [:]
        for (key, text) in info.inOrder(by: { codeUnitOrder($0.key, $1.key) }) { texts[key] = archive.text(text) }
        return archive.dictionary(texts)
    }

    private mutating func write(_ index: FetchIndex, of entity: String) throws(FerryError) -> PropertyTree {
        let description = archive.reserve()
        let elements = try index.elements.map { element throws(FerryError) in
            guard let property = element.property else {
                throw unsupported("the fetch index '\(index.name)' of \(entity), which has an expression")
            }
            return archive.object(
                ["NSFetchIndexElementDescription", "NSObject"],
                [
                    "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": description,
                    "NSFetchIndexElementType": .integer(element.kind == .rtree ? 1 : 0),
                    "NSPropertyName": archive.text(property),
                ])
        }
        var predicate = KeyedArchiveWriter.null
        if let archived = index.archivedPredicate {
            predicate = archive.kept(archived, known: known)
        } else if index.partialIndexPredicate != nil {
            throw unsupported("the predicate of the fetch index '\(index.name)' of \(entity)")
        }
        archive.fill(
            description, ["NSFetchIndexDescription", "NSObject"],
            [
                "NSEntity": reference(entity), "NSIndexElements": archive.array(elements),
                "NSIndexName": archive.text(index.name), "NSPartialIndexPredicate": predicate,
            ])
        return description
    }

    private func unsupported(_ what: String) -> FerryError {
        FerryError(
            .unsupported, "The archived form of \(what) is not known.",
            remedy: "Core Data writes its own model cache when it opens the store.")
    }

    // MARK: Properties

    /// Returns the values that attributes, relationships and fetched properties share.
    ///
    /// `_P` repeats the keys as bits: 1 always, 2 optional, 4 read only, 8 transient, 0x30 no validation, 0x40 no user
    /// info, 0x80 no hash modifier, 0x400 ordered.
    private mutating func common(
        _ name: String, of entity: String, isOptional: Bool, isTransient: Bool, renamed: String?, modifier: String?,
        info: PropertyTree?, flags: Int64 = 0, isValidated: Bool = false
    ) -> [String: PropertyTree] {
        var bits: Int64 = 1 | flags
        var values: [String: PropertyTree] = [
            "NSEntity": reference(entity), "NSPropertyName": archive.text(name),
            "NSRenamingIdentifier": archive.text(renamed ?? name),
        ]
        if isOptional { values["NSIsOptional"] = .bool(true) }
        if isTransient { values["NSIsTransient"] = .bool(true) }
        if let modifier { values["NSVersionHashModifier"] = archive.text(modifier) }
        if let info { values["NSUserInfo"] = info }
        bits |= (isOptional ? 2 : 0) | (isTransient ? 8 : 0) | (isValidated ? 0 : 0x30)
        bits |= (info == nil ? 0x40 : 0) | (modifier == nil ? 0x80 : 0)
        values["_P"] = .integer(bits)
        return values
    }

    private static func lineage(of attribute: Attribute) -> [String] {
        let plain = ["NSAttributeDescription"] + description
        if attribute.isDerived { return ["NSDerivedAttributeDescription"] + plain }
        return attribute.type == .composite ? ["NSCompositeAttributeDescription"] + plain : plain
    }

    private mutating func values(of attribute: Attribute, _ entity: String) throws(FerryError) -> [String: PropertyTree]
    {
        var info = attribute.userInfo.isEmpty ? nil : userInfo(attribute.userInfo)
        if let kept = attribute.archived["NSUserInfo"] {
            info = archive.kept(kept, known: known)
        }
        let predicates = attribute.archived["NSValidationPredicates"]
        var values = common(
            attribute.name, of: entity, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
            renamed: attribute.renamingIdentifier, modifier: attribute.versionHashModifier, info: info,
            flags: attribute.isDerived ? 4 : 0, isValidated: predicates != nil)
        values["NSAttributeType"] = .integer(Int64(attribute.type.rawValue))
        values["NSAttributeValueClassName"] = archive.text(attribute.valueClassName ?? attribute.type.valueClassName)
        values["NSValueTransformerName"] = archive.text(attribute.valueTransformerName)
        values["NSFlagsKey"] = .integer(
            (attribute.allowsExternalStorage ? 4 : 0) | (attribute.preservesValueAfterDeletion ? 16 : 0))
        values["NSDefaultValue"] = attribute.defaultValue?.archived(as: attribute.type, in: &archive)
        for key in ["NSDefaultValue", "NSValidationPredicates", "NSValidationWarnings"] {
            if let kept = attribute.archived[key] {
                values[key] = archive.kept(kept, known: known)
            }
        }
        if values["NSDefaultValue"] == nil { values["NSDefaultValue"] = KeyedArchiveWriter.null }
        if attribute.isIndexed { values["NSIsIndexed"] = .bool(true) }
        if let text = attribute.derivationExpression {
            guard let expression = ArchivedExpressionWriter.derivation(text, in: &archive) else {
                throw unsupported("the derivation of '\(entity).\(attribute.name)'")
            }
            values["NSDerivationExpression"] = expression
            values["NSFilteringPredicate"] = KeyedArchiveWriter.null
            values["NSIsReadOnly"] = .bool(true)
        }
        if attribute.type == .composite {
            let elements = attribute.compositeName.flatMap { model.composites[$0] } ?? []
            values["NSCompositeElements"] = archive.array(
                try elements.map { element throws(FerryError) in
                    archive.object(Self.lineage(of: element), try self.values(of: element, entity))
                })
        }
        return values
    }

    private mutating func write(_ relationship: Relationship, of entity: String) -> PropertyTree {
        let info = relationship.userInfo.isEmpty ? nil : userInfo(relationship.userInfo)
        var values = common(
            relationship.name, of: entity, isOptional: relationship.isOptional,
            isTransient: relationship.isTransient, renamed: relationship.renamingIdentifier,
            modifier: relationship.versionHashModifier, info: info, flags: relationship.isOrdered ? 0x400 : 0)
        values["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
        values["NSMinCount"] = .integer(Int64(relationship.minCount))
        values["NSMaxCount"] = .integer(Int64(relationship.maxCount))
        values["NSDestinationEntity"] = reference(relationship.destinationEntity)
        values["_NSDestinationEntityName"] = archive.text(relationship.destinationEntity)
        values["_NSInverseRelationshipName"] = archive.text(relationship.inverseName)
        values["NSInverseRelationship"] = KeyedArchiveWriter.null
        if let name = relationship.inverseName,
            let declaring = model.declaringEntity(of: name, in: relationship.destinationEntity),
            let inverse = properties[declaring]?[name]
        {
            values["NSInverseRelationship"] = inverse
        }
        if relationship.isOrdered { values["NSIsOrdered"] = .bool(true) }
        return fill(relationship.name, of: entity, ["NSRelationshipDescription"] + Self.description, values)
    }

    private mutating func write(
        _ name: String, _ archived: [String: ArchivedValue], of entity: String
    ) -> PropertyTree {
        var values: [String: PropertyTree] = [:]
        for (key, value) in archived.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
            values[key] = archive.inner(value, known: known)
        }
        values["NSEntity"] = reference(entity)
        return fill(name, of: entity, ["NSFetchedPropertyDescription"] + Self.description, values)
    }

    private mutating func fill(
        _ name: String, of entity: String, _ classes: [String], _ values: [String: PropertyTree]
    ) -> PropertyTree {
        guard let reserved = properties[entity]?[name] else {
            preconditionFailure("Every property is reserved.")
        }
        archive.fill(reserved, classes, values)
        return reserved
    }
}

extension AttributeType {
    /// The class of the attribute's values, if the type decides it.
    var valueClassName: String? {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binary: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        case .composite: "NSDictionary"
        case .undefined, .transformable, .objectID: nil
        }
    }
}

extension ArchivedModel {
    /// Returns the model as a keyed archive, the form of a store's model cache; equal models give equal bytes.
    ///
    /// Rules of validation and fetched properties are written only for a model from an archive, in the form read there.
    ///
    /// - Throws: `.unsupported` for a part without a known archived form: a fetch index on an expression, an unknown
    ///   derivation, and the predicate of a partial index in a model from a source file.
    package static func encode(_ model: ManagedObjectModel) throws(FerryError) -> [UInt8] {
        var encoder = ArchivedModelEncoder(model)
        return try encoder.encoded()
    }
}
