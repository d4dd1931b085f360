package import FerryBase

/// Writes a model as the XML of a source model (`contents` of an `.xcdatamodel`), in the order that Xcode writes.
package struct SourceModelWriter {
    /// The bytes of the file.
    package let bytes: [UInt8]
    /// The parts of the model that the XML cannot hold, in sentences; none of them is in a version hash.
    package let notes: [String]

    /// Writes a model, and reads it again: the XML must give the version hashes.
    ///
    /// - Parameters:
    ///   - model: The model.
    ///   - hashes: The version hashes of its stores.
    /// - Throws: `.unsupported` if the XML would give other hashes, or cannot hold a name or a text.
    package init(_ model: ManagedObjectModel, hashes: [String: [UInt8]]) throws(FerryError) {
        var xml = XMLText()
        let composites = CompositeNames(model)
        Self.write(model, composites, to: &xml)
        if let problem = xml.problem {
            throw FerryError(
                .unsupported, "\(problem) contains a character that XML cannot represent.",
                remedy: "Keep the compiled model, or a store of the version.")
        }
        bytes = Array(xml.text.utf8)
        let again = try SourceModel.readUnchecked(bytes, path: "contents")
        let differing = Set(hashes.keys).union(again.entities.keys)
        let written = VersionHash.hashes(of: again)
        let wrong = differing.filter { written[$0] != hashes[$0] }.inOrder(by: codeUnitOrder)
        guard wrong.isEmpty else {
            throw FerryError(
                .unsupported,
                "The XML of a model would give other version hashes for: \(wrong.prefix(8).joined(separator: ", "))"
                    + "\(wrong.count > 8 ? " and \(wrong.count - 8) more" : "").",
                remedy: "Keep the compiled model, or a store of the version.")
        }
        notes = Self.notes(of: model, readAgain: again)
    }

    // MARK: Elements

    private static func write(_ model: ManagedObjectModel, _ composites: CompositeNames, to xml: inout XMLText) {
        xml.text += #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"# + "\n"
        let head = [
            ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
            // Of a common version; Xcode writes its own when it saves the model.
            ("lastSavedToolsVersion", "23231"), ("systemVersion", "23G93"), ("minimumToolsVersion", "Automatic"),
            ("sourceLanguage", "Swift"),
            ("userDefinedModelVersionIdentifier", model.versionIdentifiers.first ?? ""),
        ]
        xml.element("model", head, place: "the model") { xml in
            for name in model.sortedEntityNames {
                if let entity = model.entities[name] { write(entity, composites, to: &xml) }
            }
            for (name, members) in model.namedConfigurations {
                xml.element("configuration", [("name", name)], place: name) { xml in
                    for member in members { xml.element("memberEntity", [("name", member)], place: name) }
                }
            }
            let named = model.composites.map { (composites.names[$0.key] ?? $0.key, $0.value) }
            for (written, elements) in named.inOrder(by: { codeUnitOrder($0.0, $1.0) }) {
                xml.element("composite", [("name", written)], place: written) { xml in
                    for element in elements { write(element, of: written, composites, to: &xml) }
                }
            }
        }
    }

    private static func write(_ entity: Entity, _ composites: CompositeNames, to xml: inout XMLText) {
        let attributes: [(String, String?)] = [
            ("name", entity.name), ("representedClassName", entity.className),
            ("isAbstract", entity.isAbstract ? "YES" : nil), ("parentEntity", entity.superentity),
            ("elementID", entity.renamingIdentifier), ("versionHashModifier", entity.versionHashModifier),
            ("syncable", "YES"),
        ]
        xml.element("entity", attributes, place: entity.name) { xml in
            for attribute in entity.attributes { write(attribute, of: entity.name, composites, to: &xml) }
            for relationship in entity.relationships { write(relationship, of: entity.name, to: &xml) }
            for index in entity.fetchIndexes { write(index, of: entity.name, to: &xml) }
            write(
                entity.compoundIndexes, ["compoundIndexes", "compoundIndex", "index"], of: entity.name, to: &xml)
            write(
                entity.uniquenessConstraints, ["uniquenessConstraints", "uniquenessConstraint", "constraint"],
                of: entity.name, to: &xml)
            write(entity.userInfo, of: entity.name, to: &xml)
        }
    }

    private static func write(_ lists: [[String]], _ names: [String], of place: String, to xml: inout XMLText) {
        guard !lists.isEmpty else { return }
        xml.element(names[0], [], place: place) { xml in
            for list in lists {
                xml.element(names[1], [], place: place) { xml in
                    for name in list { xml.element(names[2], [("value", name)], place: place) }
                }
            }
        }
    }

    private static func write(_ info: [String: String], of place: String, to xml: inout XMLText) {
        guard !info.isEmpty else { return }
        xml.element("userInfo", [], place: place) { xml in
            for (key, value) in info.inOrder(by: { codeUnitOrder($0.key, $1.key) }) {
                xml.element("entry", [("key", key), ("value", value)], place: "the user info of \(place)")
            }
        }
    }

    private static func write(
        _ attribute: Attribute, of owner: String, _ composites: CompositeNames, to xml: inout XMLText
    ) {
        let (validation, isDate) = (attribute.validation, attribute.type == .date)
        let (least, most) = (validation.minimum.map(number), validation.maximum.map(number))
        let interval: String? =
            if isDate, case .real(let seconds)? = attribute.defaultValue { number(seconds) } else { nil }
        let attributes: [(String, String?)] = [
            ("name", attribute.name), ("optional", attribute.isOptional ? "YES" : nil),
            ("transient", attribute.isTransient ? "YES" : nil),
            ("attributeType", attribute.type == .undefined ? nil : attribute.type.sourceName),
            ("allowsExternalBinaryDataStorage", attribute.allowsExternalStorage ? "YES" : nil),
            ("composite", attribute.compositeName.map { composites.names[$0] ?? $0 }),
            ("defaultDateTimeInterval", interval),
            (isDate ? "minDateTimeInterval" : "minValueString", least),
            (isDate ? "maxDateTimeInterval" : "maxValueString", most),
            ("defaultValueString", isDate ? nil : attribute.defaultValue.flatMap { text(of: $0, attribute.type) }),
            ("derived", attribute.isDerived ? "YES" : nil), ("derivationExpression", attribute.derivationExpression),
            ("regularExpressionString", validation.pattern),
            // What Xcode says where a class does not use numbers of Swift.
            ("usesScalarValueType", attribute.type.isScalar ? "NO" : nil),
            ("indexed", attribute.isIndexed ? "YES" : nil), ("elementID", attribute.renamingIdentifier),
            ("preserveAfterDeletion", attribute.preservesValueAfterDeletion ? "YES" : nil),
            ("valueTransformerName", attribute.valueTransformerName),
            ("customClassName", attribute.hasOwnClass ? attribute.valueClassName : nil),
            ("versionHashModifier", attribute.versionHashModifier), ("syncable", "YES"),
        ]
        let place = "\(owner).\(attribute.name)"
        xml.element("attribute", attributes, place: place) { write(attribute.userInfo, of: place, to: &$0) }
    }

    private static func write(_ relationship: Relationship, of owner: String, to xml: inout XMLText) {
        let attributes: [(String, String?)] = [
            ("name", relationship.name), ("optional", relationship.isOptional ? "YES" : nil),
            ("transient", relationship.isTransient ? "YES" : nil), ("toMany", relationship.isToMany ? "YES" : nil),
            ("minCount", relationship.minCount == 0 ? nil : String(relationship.minCount)),
            ("maxCount", relationship.maxCount == 0 ? nil : String(relationship.maxCount)),
            ("deletionRule", relationship.deleteRule.sourceName), ("ordered", relationship.isOrdered ? "YES" : nil),
            ("destinationEntity", relationship.destinationEntity), ("inverseName", relationship.inverseName),
            ("inverseEntity", relationship.inverseEntity), ("elementID", relationship.renamingIdentifier),
            ("versionHashModifier", relationship.versionHashModifier), ("syncable", "YES"),
        ]
        let place = "\(owner).\(relationship.name)"
        xml.element("relationship", attributes, place: place) { write(relationship.userInfo, of: place, to: &$0) }
    }

    private static func write(_ index: FetchIndex, of owner: String, to xml: inout XMLText) {
        let place = "the index \(index.name) of \(owner)"
        let attributes = [("name", index.name), ("partialIndexPredicate", index.partialIndexPredicate)]
        xml.element("fetchIndex", attributes, place: place) { xml in
            for element in index.elements {
                let attributes: [(String, String?)] = [
                    ("property", element.property), ("expression", element.expression),
                    ("type", element.kind == .rtree ? "RTree" : "Binary"),
                    ("order", element.isAscending ? "ascending" : "descending"),
                ]
                xml.element("fetchIndexElement", attributes, place: place)
            }
        }
    }

    // MARK: Values

    private static func number(_ number: Double) -> String {
        if let whole = Int64(exactly: number), whole != 0 || number.sign == .plus { return String(whole) }
        return String(number)
    }

    private static func text(of value: DefaultValue, _ type: AttributeType) -> String? {
        switch value {
        case .integer(let number): type == .boolean ? (number == 0 ? "NO" : "YES") : String(number)
        // The compiler of models reads "1e-07" too, as Xcode writes such numbers.
        case .real(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): type == .uuid && bytes.count == 16 ? bytes.uuidText : nil
        }
    }
}

extension Attribute {
    /// Whether values are of another class than Core Data's for the type, which an archive always names.
    fileprivate var hasOwnClass: Bool { valueClassName != type.valueClassName }
}

extension AttributeType {
    /// Whether Xcode offers a scalar of Swift for the type.
    fileprivate var isScalar: Bool { isNumeric && self != .decimal || self == .date || self == .uuid }
}

extension ManagedObjectModel {
    /// The configurations of the model's author, by name; archives have one of Core Data's own with all entities.
    var namedConfigurations: [(name: String, members: [String])] {
        configurations.filter { !$0.key.hasPrefix("PF_") }.map { ($0.key, $0.value) }
            .inOrder { codeUnitOrder($0.name, $1.name) }
    }
}

/// The names of composites in the XML: an archive names none, and a reader names them by the attributes that have them.
private struct CompositeNames {
    private(set) var names: [String: String] = [:]

    init(_ model: ManagedObjectModel) {
        var taken = Set(model.composites.keys.filter { !$0.contains(".") })
        for name in model.composites.keys.inOrder(by: codeUnitOrder) where name.contains(".") {
            let base = name.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            var (free, number) = (base, 1)
            while !taken.insert(free).inserted {
                number += 1
                free = "\(base)\(number)"
            }
            names[name] = free
        }
    }
}

/// Elements of XML, indented as Xcode does.
private struct XMLText {
    var text = ""
    private var depth = 0
    /// The first place with a character that XML cannot hold.
    private(set) var problem: String?

    mutating func element(
        _ name: String, _ attributes: [(String, String?)], place: String, _ content: (inout XMLText) -> Void = { _ in }
    ) {
        let margin = String(repeating: "    ", count: depth)
        text += margin + "<" + name
        for case (let key, let value?) in attributes { text += " \(key)=\"\(escaped(value, place))\"" }
        let start = text.utf8.count
        text += ">\n"
        depth += 1
        content(&self)
        depth -= 1
        if text.utf8.count == start + 2 {
            text.removeLast(2)
            text += "/>\n"
        } else {
            text += margin + "</\(name)>\n"
        }
    }

    private mutating func escaped(_ value: String, _ place: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar.value {
            case 0x26: escaped += "&amp;"
            case 0x3C: escaped += "&lt;"
            case 0x3E: escaped += "&gt;"
            case 0x22: escaped += "&quot;"
            // A reader of XML takes white space in an attribute as spaces.
            case 0x9, 0xA, 0xD: escaped += "&#\(scalar.value);"
            case 0..<0x20, 0xFFFE, 0xFFFF: if problem == nil { problem = place }
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
