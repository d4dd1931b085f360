package import FerryBase

/// Reads the XML of a source model (`contents` of an `.xcdatamodel`).
package enum SourceModel {
    /// Reads a model and checks its consistency.
    ///
    /// Throws `.badModel` with the file's path if the bytes are not a model or the model contradicts itself.
    package static func read(_ bytes: [UInt8], path: String) throws(FerryError) -> ManagedObjectModel {
        let model = try readUnchecked(bytes, path: path)
        try model.check(path: path)
        return model
    }

    /// Reads a part of a model, whose relationships may have destinations outside of the part.
    package static func readUnchecked(_ bytes: [UInt8], path: String) throws(FerryError) -> ManagedObjectModel {
        let root = try SourceElement.parse(bytes, path: path)
        guard root.name == "model" else {
            throw FerryError(
                .badModel, "The file \(path) is not a Core Data model: its root element is '\(root.name)'.",
                remedy: "Pass an .xcdatamodeld, .xcdatamodel, .momd or .mom.")
        }
        let reader = Reader(path: path)
        let entities = try root.children("entity").map { element throws(FerryError) in try reader.entity(element) }
        try ManagedObjectModel.check(entities, path: path)
        var composites: [String: [Attribute]] = [:]
        for element in root.children("composite") {
            let name = try reader.name(of: element)
            composites[name] = try element.children("attribute").map { attribute throws(FerryError) in
                try reader.attribute(attribute, of: name)
            }
        }
        var configurations: [String: [String]] = [:]
        for element in root.children("configuration") {
            configurations[try reader.name(of: element)] = element.children("memberEntity").compactMap { $0["name"] }
        }
        return ManagedObjectModel(
            versionIdentifiers: [root["userDefinedModelVersionIdentifier"] ?? ""], entities: entities,
            configurations: configurations, composites: composites)
    }

    /// The lines on which entities and their properties begin, by `Entity` and `Entity.property`, for messages.
    package static func lines(of bytes: [UInt8], path: String) throws(FerryError) -> [String: Int] {
        var lines: [String: Int] = [:]
        var entity = ""
        try SourceElement.read(bytes, path: path) { token, line in
            guard case .start(let element, let attributes) = token, let name = attributes["name"] else { return }
            switch element {
            case "entity":
                entity = name
                lines[name] = line
            case "attribute", "relationship", "fetchedProperty": lines["\(entity).\(name)"] = line
            default: break
            }
        }
        return lines
    }

    private struct Reader {
        let path: String

        func broken(_ reason: String) -> FerryError { ManagedObjectModel.unusable(path, reason) }

        func name(of element: SourceElement) throws(FerryError) -> String {
            guard let name = element["name"], !name.isEmpty else {
                throw broken("one of its elements '\(element.name)' has no name")
            }
            return name
        }

        func entity(_ element: SourceElement) throws(FerryError) -> Entity {
            var entity = Entity(
                name: try name(of: element), superentity: element["parentEntity"].nonEmpty,
                isAbstract: element.flag("isAbstract"))
            for child in element.children {
                switch child.name {
                case "attribute": entity.attributes.append(try attribute(child, of: entity.name))
                case "relationship": entity.relationships.append(try relationship(child, of: entity.name))
                case "fetchedProperty": entity.fetchedProperties.append(FetchedProperty(name: try name(of: child)))
                case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(child))
                case "uniquenessConstraints":
                    entity.uniquenessConstraints += child.children("uniquenessConstraint")
                        .map { $0.children("constraint").compactMap { $0["value"] } }.filter { !$0.isEmpty }
                case "compoundIndexes":
                    entity.compoundIndexes += child.children("compoundIndex")
                        .map { $0.children("index").compactMap { $0["value"] } }.filter { !$0.isEmpty }
                default: break
                }
            }
            entity.renamingIdentifier = renamingIdentifier(of: element)
            entity.versionHashModifier = element["versionHashModifier"].nonEmpty
            entity.className = element["representedClassName"].nonEmpty
            entity.userInfo = userInfo(of: element)
            return entity
        }

        func attribute(_ element: SourceElement, of owner: String) throws(FerryError) -> Attribute {
            let name = try name(of: element)
            guard let type = AttributeType(sourceName: element["attributeType"] ?? "Undefined") else {
                throw broken("'\(owner).\(name)' has the unknown type '\(element["attributeType"] ?? "")'")
            }
            var attribute = Attribute(
                name: name, type: type, isOptional: element.flag("optional"), isTransient: element.flag("transient"))
            attribute.defaultValue = DefaultValue(
                type: type, text: element["defaultValueString"],
                interval: element["defaultDateTimeInterval"].flatMap(Double.init))
            attribute.allowsExternalStorage = element.flag("allowsExternalBinaryDataStorage")
            attribute.preservesValueAfterDeletion = element.flag("preserveAfterDeletion")
            attribute.isIndexed = element.flag("indexed")
            if element.flag("derived") {
                guard let expression = element["derivationExpression"].nonEmpty else {
                    throw broken("'\(owner).\(name)' is derived, but has no derivation")
                }
                attribute.derivationExpression = expression
            }
            if type == .composite {
                guard let composite = element["composite"].nonEmpty else {
                    throw broken("'\(owner).\(name)' does not name a composite")
                }
                attribute.compositeName = composite
            }
            attribute.renamingIdentifier = renamingIdentifier(of: element)
            attribute.versionHashModifier = element["versionHashModifier"].nonEmpty
            attribute.valueTransformerName = element["valueTransformerName"].nonEmpty
            attribute.valueClassName = element["customClassName"].nonEmpty
            attribute.userInfo = userInfo(of: element)
            let (least, most) =
                type == .date ? ("minDateTimeInterval", "maxDateTimeInterval") : ("minValueString", "maxValueString")
            attribute.validation = AttributeValidation(
                minimum: element[least].flatMap(Double.init), maximum: element[most].flatMap(Double.init),
                pattern: element["regularExpressionString"].nonEmpty)
            return attribute
        }

        func relationship(_ element: SourceElement, of owner: String) throws(FerryError) -> Relationship {
            let name = try name(of: element)
            guard let destination = element["destinationEntity"].nonEmpty else {
                throw broken("the relationship '\(owner).\(name)' has no destination entity")
            }
            var relationship = Relationship(
                name: name, destinationEntity: destination, inverseName: element["inverseName"].nonEmpty,
                inverseEntity: element["inverseEntity"].nonEmpty, isOptional: element.flag("optional"),
                isTransient: element.flag("transient"), isOrdered: element.flag("ordered"))
            relationship.minCount = try count("minCount", of: element, in: owner) ?? 0
            relationship.maxCount = try count("maxCount", of: element, in: owner) ?? (element.flag("toMany") ? 0 : 1)
            let rule = element["deletionRule"] ?? "Nullify"
            guard let deleteRule = Relationship.DeleteRule.allCases.first(where: { $0.sourceName == rule }) else {
                throw broken("the relationship '\(owner).\(name)' has the unknown delete rule '\(rule)'")
            }
            relationship.deleteRule = deleteRule
            relationship.renamingIdentifier = renamingIdentifier(of: element)
            relationship.versionHashModifier = element["versionHashModifier"].nonEmpty
            relationship.userInfo = userInfo(of: element)
            return relationship
        }

        private func count(_ key: String, of element: SourceElement, in owner: String) throws(FerryError) -> Int? {
            guard let text = element[key].nonEmpty else { return nil }
            guard let count = Int(text) else {
                throw broken("'\(key)' of the relationship '\(owner).\(element["name"] ?? "")' is not a number")
            }
            return count
        }

        private func fetchIndex(_ element: SourceElement) throws(FerryError) -> FetchIndex {
            let elements = element.children("fetchIndexElement").map { child in
                FetchIndex.Element(
                    property: child["property"].nonEmpty, expression: child["expression"].nonEmpty,
                    kind: child["type"]?.lowercased() == "rtree" ? .rtree : .binary,
                    isAscending: child["order"] != "descending")
            }
            return FetchIndex(
                name: try name(of: element), elements: elements,
                partialIndexPredicate: element["partialIndexPredicate"].nonEmpty)
        }

        /// Xcode writes `elementID`; some other tools write `renamingIdentifier`.
        private func renamingIdentifier(of element: SourceElement) -> String? {
            element["elementID"].nonEmpty ?? element["renamingIdentifier"].nonEmpty
        }

        private func userInfo(of element: SourceElement) -> [String: String] {
            var info: [String: String] = [:]
            for entry in element.children("userInfo").flatMap({ $0.children("entry") }) {
                if let key = entry["key"] { info[key] = entry["value"] ?? "" }
            }
            return info
        }
    }
}

extension String? {
    /// Nil for an empty text, which means no value in model files.
    var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}

extension [String] {
    var firstRepeated: String? {
        var seen: Set<String> = []
        return first { !seen.insert($0).inserted }
    }
}

/// An XML element of a source model.
struct SourceElement {
    var name: String
    var attributes: [String: String]
    var children: [SourceElement] = []
    /// The text between the tags, without the text of children; mostly white space if the element has children.
    var text = ""

    /// Real models are five deep.
    private static let depthLimit = 64
    /// The largest known models have 20,000 elements.
    private static let countLimit = 200_000

    subscript(attribute: String) -> String? { attributes[attribute] }

    func flag(_ attribute: String) -> Bool {
        switch attributes[attribute] {
        case "YES", "true", "1": true
        default: false
        }
    }

    func children(_ name: String) -> [SourceElement] { children.filter { $0.name == name } }

    /// Reads the tokens of XML, each with the line on which its tag begins.
    static func read(
        _ bytes: [UInt8], path: String, _ body: (XMLTokenizer.Token, _ line: Int) -> Void
    ) throws(FerryError) {
        var tokens = tokens(of: bytes, path: path)
        while let token = try tokens.next() { body(token, tokens.tagLine) }
    }

    private static func tokens(of bytes: [UInt8], path: String) -> XMLTokenizer {
        var rest = bytes
        return XMLTokenizer(depthLimit: depthLimit) { reason, line in
            FerryError(
                .badModel, "The model file \(path) cannot be read: \(reason) (line \(line)).",
                remedy: "Open the model in Xcode and save it again, or use an undamaged copy.")
        } fill: { () throws(FerryError) in
            defer { rest = [] }
            return rest
        }
    }

    /// Reads XML of limited depth and size; throws `.badModel` with the file's path for other bytes.
    static func parse(_ bytes: [UInt8], path: String) throws(FerryError) -> SourceElement {
        var tokens = tokens(of: bytes, path: path)
        // Beside the tree, the parser holds only the open elements.
        var open: [SourceElement] = []
        var root: SourceElement?
        var count = 0
        while let token = try tokens.next() {
            switch token {
            case .start(let name, let attributes):
                count += 1
                guard count <= countLimit else { throw tokens.problem("it has more than \(countLimit) elements") }
                open.append(SourceElement(name: name, attributes: attributes))
            case .text(let text): if !open.isEmpty { open[open.count - 1].text += text }
            case .end:
                guard let element = open.popLast() else { continue }
                if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
            }
        }
        guard let root else { throw tokens.problem("it has no element") }
        return root
    }
}
