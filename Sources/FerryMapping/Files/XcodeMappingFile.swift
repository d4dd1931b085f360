internal import FerryBase
internal import FerryExpression
internal import FerryModel

internal import struct Foundation.Data

/// Reads Xcode's mapping models (`.xcmappingmodel/xcmapping.xml`).
///
/// The file is the store of Xcode's mapping editor, with deleted mappings in it: only objects in use are read.
struct XcodeMappingFile {
    private let file: String
    private let objects: [String: MappingXMLObject]
    private let path: String
    private var warnings: [FerryWarning] = []

    static func read(
        _ pieces: @escaping () throws(FerryError) -> [UInt8], name: String, path: String
    ) throws(FerryError) -> MappingModel {
        let file = fileName(of: path)
        var reader = XcodeMappingFile(
            file: file, objects: try MappingXMLReader.read(pieces, file: file), path: path)
        return try reader.mappingModel(name: name)
    }

    private mutating func mappingModel(name: String) throws(FerryError) -> MappingModel {
        let roots = objects.values.filter { $0.type == "XDDEVMAPPINGMODEL" }
        guard let root = roots.first, roots.count == 1 else {
            throw damaged("it contains \(roots.count) mapping models instead of one")
        }
        guard let source = text("sourcemodelpath", of: root), let destination = text("destinationmodelpath", of: root)
        else { throw damaged("it does not name its source and destination model") }

        let live = try referred("entitymappings", by: root, type: "XDDEVENTITYMAPPING")
        let ordered = live.enumerated().inOrder { left, right in
            (number(of: left.element), left.offset) < (number(of: right.element), right.offset)
        }
        var entityMappings: [EntityMapping] = []
        for (_, object) in ordered {
            if let mapping = try entityMapping(object) { entityMappings.append(mapping) }
        }
        return MappingModel(
            name: name, path: path, sourceVersion: source, destinationVersion: destination,
            entityMappings: entityMappings, warnings: warnings)
    }

    // MARK: Entity mappings

    private mutating func entityMapping(_ object: MappingXMLObject) throws(FerryError) -> EntityMapping? {
        let source = text("sourcename", of: object)
        let destination = text("destinationname", of: object)
        guard source != nil || destination != nil else {
            let name = text("name", of: object).map { "\"\($0)\"" } ?? "without a name"
            warn(.leftOutOfMapping, "\(file): the entity mapping \(name) names no entity and is left out.", about: nil)
            return nil
        }
        var mapping = EntityMapping(
            name: text("name", of: object) ?? EntityMapping.derivedName(source: source, destination: destination),
            source: source, destination: destination)
        mapping.policyClassName = text("migrationpolicyclassname", of: object)
        if let filter = text("sourcefilterpredicatestring", of: object) {
            do {
                let predicate = try Predicate.parse(filter)
                mapping.filter = predicate == .constant(true) ? nil : predicate
                mapping.texts["where"] = .init(text: filter)
            } catch {
                mapping.unreadable.append(.init(part: "the filter predicate", reason: error.message))
            }
        }
        if let data = object.attributes["userinfodata"], !data.isBlank {
            do {
                mapping.userInfo = try KeyedArchive(try bytes(data)).root.texts()
            } catch {
                warn(
                    .leftOutOfMapping,
                    "\(file): the user info of entity mapping \"\(mapping.name)\" is left out: \(error.message)",
                    about: mapping.name)
            }
        }
        for attribute in try referred("attributemappings", by: object, type: "XDDEVATTRIBUTEMAPPING") {
            // The editor leaves mappings without a name behind, which set nothing.
            guard let name = text("name", of: attribute) else { continue }
            try mapping.add(
                "attribute", name, to: \.attributes, orElse: .empty, damaged: damaged
            ) { () throws(FerryError) in try expression(of: attribute).map { .value($0) } ?? .automatic }
        }
        let fields = mapping
        for relationship in try referred("relationshipmappings", by: object, type: "XDDEVRELATIONSHIPMAPPING") {
            guard let name = text("name", of: relationship) else { continue }
            try mapping.add(
                "relationship", name, to: \.relationships, orElse: .empty, damaged: damaged
            ) { () throws(FerryError) in
                if let expression = try expression(of: relationship) { return try RelationshipRule(lookup: expression) }
                return try helperFields(of: relationship, named: name, in: fields) ?? .automatic
            }
        }
        return mapping
    }

    private func number(of object: MappingXMLObject) -> Int {
        text("mappingnumber", of: object).flatMap { Int($0) } ?? .max
    }

    // MARK: Properties

    /// The rule of the editor's fields Key Path and Mapping Name.
    private mutating func helperFields(
        of object: MappingXMLObject, named name: String, in mapping: EntityMapping
    ) throws(FerryError) -> RelationshipRule? {
        let mappingName = text("sourcemappingname", of: object)
        let path = text("sourcekeypath", of: object)
        guard mappingName != nil || path != nil else { return nil }
        func report(_ code: FerryWarning.Code, _ what: String) {
            warn(
                code, "\(file): relationship \"\(name)\" of entity mapping \"\(mapping.name)\" \(what)",
                about: mapping.name, name)
        }
        guard mapping.source != nil else {
            report(.leftOutOfMapping, "refers to source objects, but the mapping has no source entity; it is left out.")
            return nil
        }
        let from: Expression
        if let path {
            from = try Expression.parse(path)
        } else if mappingName == mapping.name {
            // The mapping's own objects are hardly meant; for a tree, the automatic rule gives the same.
            report(.leftOutOfMapping, "names a mapping but no key path; it is left out.")
            return nil
        } else {
            from = .keyPath(.variable("source"), [.key(name)])
            report(.completedMapping, "names a mapping but no key path; $source.\(name) is used.")
        }
        guard let mappingName else {
            report(.completedMapping, "names a key path but no mapping; all matching mappings are used.")
            return .destinationsOfAnyMapping(from: from)
        }
        return .destinations(ofMapping: mappingName, from: from)
    }

    private mutating func warn(
        _ code: FerryWarning.Code, _ message: String, about entityMapping: String?, _ property: String? = nil
    ) {
        warnings.append(
            FerryWarning(
                code, message, about: .init(property: property, entityMapping: entityMapping, path: path)))
    }

    /// The archived expression of a property mapping; it takes precedence over every other field.
    private func expression(of object: MappingXMLObject) throws(FerryError) -> Expression? {
        guard let data = object.attributes["valueexpressiondata"], !data.isBlank else { return nil }
        return try ArchivedExpression.decode(try bytes(data))
    }

    // MARK: Fields

    /// A string attribute, or nil if it is blank.
    private func text(_ name: String, of object: MappingXMLObject) -> String? {
        guard let text = object.attributes[name], !text.isBlank else { return nil }
        return text.decodingSwappedEscapes
    }

    private func bytes(_ base64: String) throws(FerryError) -> [UInt8] {
        // The text contains line breaks.
        guard let data = Data(base64Encoded: base64, options: .ignoreUnknownCharacters) else {
            throw FerryError(.badArchive, "its Base64 is damaged.")
        }
        return [UInt8](data)
    }

    private func referred(
        _ relationship: String, by object: MappingXMLObject, type: String
    ) throws(FerryError) -> [MappingXMLObject] {
        var found: [MappingXMLObject] = []
        for identifier in object.relationships[relationship] ?? [] {
            guard let object = objects[identifier] else {
                throw damaged("\(relationship) refers to \(identifier), which is missing")
            }
            guard object.type == type else {
                throw damaged("\(relationship) refers to \(identifier), which is of type \(object.type)")
            }
            found.append(object)
        }
        return found
    }

    private func damaged(_ what: String) -> FerryError {
        FerryError(
            .badMapping, "\(file): \(what).",
            remedy: "Open the mapping model in Xcode and save it, or restore the file.")
    }
}

extension String {
    fileprivate var isBlank: Bool { allSatisfy(\.isWhitespace) }

    /// The text with the escapes of Core Data's XML store decoded.
    ///
    /// The store writes some UTF-16 code units as `\uXXYY` with their two bytes swapped: `<`, U+003C, is `\u3c00`.
    var decodingSwappedEscapes: String {
        guard contains("\\u") else { return self }
        var units: [UInt16] = []
        var rest = Array(utf16)[...]
        while let unit = rest.first {
            if let escaped = Self.swappedUnit(rest.prefix(6)) {
                units.append(escaped)
                rest = rest.dropFirst(6)
            } else {
                units.append(unit)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    private static func swappedUnit(_ units: ArraySlice<UInt16>) -> UInt16? {
        guard units.count == 6, units.starts(with: "\\u".utf16) else { return nil }
        let digits = units.dropFirst(2).compactMap { unit -> Character? in
            guard let scalar = UnicodeScalar(unit), scalar.properties.isASCIIHexDigit else { return nil }
            return Character(scalar)
        }
        guard digits.count == 4 else { return nil }
        return UInt16(String(digits), radix: 16)?.byteSwapped
    }
}

/// An `<object>` of an `xcmapping.xml`, as Core Data's XML store writes it.
struct MappingXMLObject {
    var type: String
    var attributes: [String: String] = [:]
    var relationships: [String: [String]] = [:]
}

/// Reads the objects of an `xcmapping.xml` in pieces.
///
/// The two embedded copies of the models, nearly all of the bytes, are dropped.
struct MappingXMLReader {
    private static let droppedAttributes: Set = ["sourcemodeldata", "destinationmodeldata"]
    /// Real files have a depth of three.
    private static let depthLimit = 16
    /// The limit of kept bytes, with a share for each object and name; the largest known mapping models keep 2 MB.
    private static let keptLimit = 32 << 20
    private static let objectBytes = 200

    private var tokens: XMLTokenizer
    private var objects: [String: MappingXMLObject] = [:]
    private var depth = 0
    private var object: (identifier: String, value: MappingXMLObject)?
    private var attribute: String?
    private var text = ""
    private var kept = 0

    /// All objects by identifier, including orphans.
    ///
    /// - Throws: ``FerryError`` `.badMapping` with the line of the error.
    static func read(
        _ pieces: @escaping () throws(FerryError) -> [UInt8], file: String
    ) throws(FerryError) -> [String: MappingXMLObject] {
        let failure = { (reason: String, line: Int) in
            FerryError(
                .badMapping, "\(file):\(line): \(reason).",
                remedy: "Open the mapping model in Xcode and save it again, or use an undamaged copy.")
        }
        let tokens = XMLTokenizer(depthLimit: depthLimit, failure: failure, fill: pieces)
        var reader = MappingXMLReader(tokens: tokens)
        while let token = try reader.tokens.next() { try reader.take(token) }
        return reader.objects
    }

    private mutating func take(_ token: XMLTokenizer.Token) throws(FerryError) {
        switch token {
        case .start(let name, let attributes):
            try start(name, attributes)
            depth += 1
            try keep(Self.objectBytes + attributes.values.reduce(0) { $0 + $1.utf8.count })
        case .text(let piece):
            guard attribute != nil else { return }
            text += piece
            try keep(piece.utf8.count)
        case .end:
            depth -= 1
            end()
        }
    }

    private mutating func start(_ element: String, _ attributes: [String: String]) throws(FerryError) {
        if depth == 0, element != "database" {
            throw tokens.problem("this is not a mapping model: its root element is <\(element)>, not <database>")
        }
        switch (depth, element) {
        case (1, "object"):
            guard let identifier = attributes["id"], let type = attributes["type"] else {
                throw tokens.problem("an object has no id or no type")
            }
            if objects[identifier] != nil { throw tokens.problem("a second object has the id \(identifier)") }
            object = (identifier, MappingXMLObject(type: type))
        case (2, "attribute") where object != nil:
            if let name = attributes["name"], !Self.droppedAttributes.contains(name) { attribute = name }
        case (2, "relationship") where object != nil:
            if let name = attributes["name"], let identifiers = attributes["idrefs"] {
                object?.value.relationships[name] = identifiers.split(whereSeparator: \.isWhitespace).map(String.init)
            }
        default: break
        }
    }

    private mutating func end() {
        switch depth {
        case 2:
            if let attribute { object?.value.attributes[attribute] = text }
            attribute = nil
            text = ""
        case 1:
            if let object { objects[object.identifier] = object.value }
            object = nil
        default: break
        }
    }

    private mutating func keep(_ bytes: Int) throws(FerryError) {
        kept += bytes
        if kept > Self.keptLimit { throw tokens.problem("it is larger than any mapping model") }
    }
}
