package import FerryBase

/// Reads an archived model: a compiled `.mom`, or the model cache of a store.
package enum ArchivedModel {
    /// The limit of entities and properties of all entities together; real models have far fewer.
    private static let sizeLimit = 200_000

    /// Reads the model.
    ///
    /// The reader drops properties that a subentity repeats. Relationships refer to destination and inverse by name.
    ///
    /// Throws `.badArchive` if the archive is damaged or holds no model, `.badModel` if the model contradicts itself;
    /// the message names `path`, the origin of the archive.
    package static func decode(
        _ archive: KeyedArchive, path: String = "in the archive"
    ) throws(FerryError) -> ManagedObjectModel {
        try WorkThread.withStack { () throws(FerryError) in try decode(from: archive, path: path) }
    }

    private static func decode(from archive: KeyedArchive, path: String) throws(FerryError) -> ManagedObjectModel {
        let root = try archive.root
        guard try root.isKind(of: "NSManagedObjectModel"), let entries = try root.object("NSEntities")?.entriesByText
        else {
            throw FerryError(
                .badArchive, "The archive \(path) does not contain a managed object model.",
                remedy: "Pass an .xcdatamodeld, .xcdatamodel, .momd or .mom.")
        }
        var decoder = Decoder()
        let entities = try entries.map { entry throws(FerryError) in try decoder.entity(entry.value) }
        try ManagedObjectModel.check(entities, path: path)
        var model = ManagedObjectModel(
            versionIdentifiers: try texts(root.elements("NSVersionIdentifiers")).inOrder(by: codeUnitOrder),
            entities: linked(entities), configurations: try configurations(root), composites: decoder.composites)
        try model.check(path: path)
        model.unheld = decoder.unheld
        for (name, _) in try root.object("NSFetchRequestTemplates")?.entriesByText ?? [] {
            model.unheld.append(.init(kind: .fetchRequest, place: name))
        }
        return model
    }

    private static func configurations(_ root: ArchivedObject) throws(FerryError) -> [String: [String]] {
        var configurations: [String: [String]] = [:]
        for (name, members) in try root.object("NSConfigurations")?.entriesByText ?? [] {
            var names: [String] = []
            for member in try members.elements ?? [] {
                let plain = try member.text
                if let name = try member.text("NSEntityName") ?? plain { names.append(name) }
            }
            configurations[name] = names.inOrder(by: codeUnitOrder)
        }
        return configurations
    }

    /// Drops repeated properties and finds the entities that declare the inverses.
    private static func linked(_ entities: [Entity]) -> [Entity] {
        var names: [String: Set<String>] = [:]
        for entity in entities {
            names[entity.name] = Set(entity.attributes.map(\.name) + entity.relationships.map(\.name))
        }
        let plain = ManagedObjectModel(versionIdentifiers: [], entities: entities)
        var distinct = entities
        for position in distinct.indices {
            let ancestors = plain.lineage(of: distinct[position].name).dropFirst()
            let inherited = { (name: String) in ancestors.contains { names[$0.name]?.contains(name) == true } }
            distinct[position].attributes.removeAll { inherited($0.name) }
            distinct[position].relationships.removeAll { inherited($0.name) }
        }
        let model = ManagedObjectModel(versionIdentifiers: [], entities: distinct)
        for position in distinct.indices {
            for index in distinct[position].relationships.indices {
                let relationship = distinct[position].relationships[index]
                distinct[position].relationships[index].inverseEntity = relationship.inverseName.flatMap {
                    model.declaringEntity(of: $0, in: relationship.destinationEntity)
                }
            }
        }
        return distinct
    }

    private static func texts(_ objects: [ArchivedObject]?) throws(FerryError) -> [String] {
        var texts: [String] = []
        for object in objects ?? [] {
            if let text = try object.text { texts.append(text) }
        }
        return texts
    }

    private struct Decoder {
        var composites: [String: [Attribute]] = [:]
        private(set) var unheld: [ManagedObjectModel.Unheld] = []
        private var size = 0

        mutating func entity(_ object: ArchivedObject) throws(FerryError) -> Entity {
            try grow()
            let name = try self.name(of: object, key: "NSEntityName")
            var entity = Entity(
                name: name, superentity: try object.object("NSSuperentity")?.text("NSEntityName"),
                isAbstract: try object.flag("NSIsAbstract"))
            let properties = try object.object("NSProperties")?.entriesByText ?? []
            for (_, property) in properties {
                try grow()
                let className = try property.className ?? ""
                switch className {
                // A proxy repeats an inherited property; an expression description is only for fetches.
                case "_NSPropertyDescriptionProxy", "NSExpressionDescription": break
                case "NSRelationshipDescription": entity.relationships.append(try relationship(property, of: name))
                case "NSFetchedPropertyDescription":
                    let name = try self.name(of: property, key: "NSPropertyName")
                    entity.fetchedProperties.append(FetchedProperty(name: name, archived: try property.keptValues))
                default:
                    guard try property.isKind(of: "NSAttributeDescription") else {
                        throw FerryError(
                            .badArchive, "The archived model has a property of the unknown class '\(className)'.")
                    }
                    entity.attributes.append(try attribute(property, of: name))
                }
            }
            // An archive has no order of properties; sorting by name makes each read of a model give the same result.
            entity.attributes.sort { codeUnitOrder($0.name, $1.name) }
            entity.relationships.sort { codeUnitOrder($0.name, $1.name) }
            entity.fetchedProperties.sort { codeUnitOrder($0.name, $1.name) }
            entity.uniquenessConstraints = try nameLists(object.elements("NSUniqueTuples"))
            entity.compoundIndexes = try nameLists(object.elements("NSCompoundIndexes"))
            for index in try object.elements("NSFetchIndexDescriptions") ?? [] {
                try grow()
                entity.fetchIndexes.append(try fetchIndex(index))
            }
            entity.renamingIdentifier = try renamingIdentifier(of: object, name: name)
            entity.versionHashModifier = try object.text("NSVersionHashModifier").nonEmpty
            entity.className = try object.text("NSClassNameForEntity").nonEmpty
            entity.userInfo = try userInfo(of: object)
            if try object.object("NSUserInfo")?.entries?.count ?? 0 > entity.userInfo.count {
                unheld.append(.init(kind: .userInfo, place: name))
            }
            return entity
        }

        private mutating func attribute(_ object: ArchivedObject, of owner: String) throws(FerryError) -> Attribute {
            let name = try self.name(of: object, key: "NSPropertyName")
            let code = try object.integer("NSAttributeType") ?? 0
            guard let type = Int(exactly: code).flatMap(AttributeType.init(rawValue:)) else {
                throw FerryError(.badModel, "The archived attribute '\(owner).\(name)' has the unknown type \(code).")
            }
            let flags = try object.integer("NSFlagsKey") ?? 0
            var attribute = Attribute(
                name: name, type: type, isOptional: try object.flag("NSIsOptional"),
                isTransient: try object.flag("NSIsTransient"))
            attribute.allowsExternalStorage = flags & 4 != 0
            attribute.preservesValueAfterDeletion = flags & 16 != 0
            attribute.isIndexed = try object.flag("NSIsIndexed")
            if let expression = try object.object("NSDerivationExpression") {
                attribute.derivationExpression = try ArchivedExpressionText.expression(expression)
            }
            if type == .composite {
                // The archive does not hold the composite's name; owner and attribute name it just as well.
                let composite = "\(owner).\(name)"
                let elements = try object.elements("NSCompositeElements") ?? []
                composites[composite] = try elements.map { element throws(FerryError) in
                    try grow()
                    return try self.attribute(element, of: composite)
                }
                attribute.compositeName = composite
            } else if let value = try object.object("NSDefaultValue") {
                attribute.defaultValue = try DefaultValue(type: type, archived: value)
            }
            attribute.renamingIdentifier = try renamingIdentifier(of: object, name: name)
            attribute.versionHashModifier = try object.text("NSVersionHashModifier").nonEmpty
            attribute.valueTransformerName = try object.text("NSValueTransformerName").nonEmpty
            attribute.valueClassName = try object.text("NSAttributeValueClassName").nonEmpty
            attribute.userInfo = try userInfo(of: object)
            attribute.validation = try validation(of: object, "\(owner).\(name)")
            for key: StaticString in ["NSValidationPredicates", "NSValidationWarnings"] {
                attribute.archived["\(key)"] = try object.object(key)?.kept
            }
            if attribute.defaultValue == nil {
                attribute.archived["NSDefaultValue"] = try object.object("NSDefaultValue")?.kept
            }
            // SwiftData stores values other than texts in the user info.
            if try object.object("NSUserInfo")?.entries?.count ?? 0 > attribute.userInfo.count {
                attribute.archived["NSUserInfo"] = try object.object("NSUserInfo")?.kept
            }
            return attribute
        }

        /// Skips predicates without a text form; `Attribute.archived` keeps them.
        private mutating func validation(
            of object: ArchivedObject, _ place: String
        ) throws(FerryError) -> AttributeValidation {
            var validation = AttributeValidation()
            for predicate in try object.elements("NSValidationPredicates") ?? [] {
                var isHeld = false
                do {
                    isHeld = validation.add(predicate: try ArchivedExpressionText.predicate(predicate))
                } catch  where error.code == .badArchive {}
                if !isHeld { unheld.append(.init(kind: .validation, place: place)) }
            }
            return validation
        }

        private mutating func relationship(
            _ object: ArchivedObject, of owner: String
        ) throws(FerryError) -> Relationship {
            let name = try self.name(of: object, key: "NSPropertyName")
            let inverse = try object.text("_NSInverseRelationshipName").nonEmpty
            let referencedInverse = try object.object("NSInverseRelationship")?.text("NSPropertyName")
            let destination = try object.text("_NSDestinationEntityName").nonEmpty
            let referenced = try object.object("NSDestinationEntity")?.text("NSEntityName")
            guard let destination = destination ?? referenced else {
                throw FerryError(.badModel, "The archived relationship '\(name)' has no destination entity.")
            }
            var relationship = Relationship(
                name: name, destinationEntity: destination,
                inverseName: inverse ?? referencedInverse,
                isOptional: try object.flag("NSIsOptional"), isTransient: try object.flag("NSIsTransient"),
                isOrdered: try object.flag("NSIsOrdered"), minCount: Int(try object.integer("NSMinCount") ?? 0),
                maxCount: Int(try object.integer("NSMaxCount") ?? 0))
            let rule = Int(try object.integer("NSDeleteRule") ?? 0)
            guard let deleteRule = Relationship.DeleteRule(rawValue: rule) else {
                throw FerryError(.badModel, "The archived relationship '\(name)' has the unknown delete rule \(rule).")
            }
            relationship.deleteRule = deleteRule
            relationship.renamingIdentifier = try renamingIdentifier(of: object, name: name)
            relationship.versionHashModifier = try object.text("NSVersionHashModifier").nonEmpty
            relationship.userInfo = try userInfo(of: object)
            if try object.object("NSUserInfo")?.entries?.count ?? 0 > relationship.userInfo.count {
                unheld.append(.init(kind: .userInfo, place: "\(owner).\(name)"))
            }
            return relationship
        }

        private mutating func fetchIndex(_ object: ArchivedObject) throws(FerryError) -> FetchIndex {
            var elements: [FetchIndex.Element] = []
            for element in try object.elements("NSIndexElements") ?? [] {
                try grow()
                var property = try element.text("NSPropertyName").nonEmpty
                var expression: String?
                // An element on an expression has the expression in place of the property.
                if let indexed = try element.object("NSIndexedProperty"),
                    let archived = try indexed.object("NSExpression")
                {
                    expression = try ArchivedExpressionText.expression(archived)
                    property = nil
                }
                elements.append(
                    FetchIndex.Element(
                        property: property, expression: expression,
                        kind: try element.integer("NSFetchIndexElementType") == 1 ? .rtree : .binary,
                        isAscending: try element.flag("NSAscending")))
            }
            var index = FetchIndex(name: try name(of: object, key: "NSIndexName"), elements: elements)
            if let archived = try object.object("NSPartialIndexPredicate") {
                index.partialIndexPredicate = try ArchivedExpressionText.predicate(archived)
                index.archivedPredicate = try archived.kept
            }
            return index
        }

        private func nameLists(_ lists: [ArchivedObject]?) throws(FerryError) -> [[String]] {
            var names: [[String]] = []
            for list in lists ?? [] {
                let listed = try texts(list.elements)
                if !listed.isEmpty { names.append(listed) }
            }
            return names
        }

        private func userInfo(of object: ArchivedObject) throws(FerryError) -> [String: String] {
            var info: [String: String] = [:]
            for (key, value) in try object.object("NSUserInfo")?.entriesByText ?? [] {
                if let text = try value.text { info[key] = text }
            }
            return info
        }

        /// Drops an identifier that equals the name: the archive always has one.
        private func renamingIdentifier(of object: ArchivedObject, name: String) throws(FerryError) -> String? {
            let identifier = try object.text("NSRenamingIdentifier").nonEmpty
            return identifier == name ? nil : identifier
        }

        private func name(of object: ArchivedObject, key: StaticString) throws(FerryError) -> String {
            guard let name = try object.text(key), !name.isEmpty else {
                throw FerryError(.badArchive, "An archived part of the model has no name (\(key)).")
            }
            return name
        }

        /// Counts an entity or property: with shared objects, a small archive could describe an endless model.
        private mutating func grow() throws(FerryError) {
            size += 1
            guard size <= ArchivedModel.sizeLimit else {
                throw FerryError(
                    .badArchive, "The archived model has more than \(ArchivedModel.sizeLimit) entities and properties.")
            }
        }
    }
}
