internal import FerryBase

/// An `<object>` of an `xcmapping.xml`, as Core Data's XML store writes it.
struct MappingXMLObject {
    var type: String
    /// Attribute name to text; a nil attribute is missing.
    var attributes: [String: String] = [:]
    /// Relationship name to the identifiers it refers to; a nil relationship is missing.
    var relationships: [String: [String]] = [:]
}

/// Reads the objects of an `xcmapping.xml` from a stream.
///
/// The two embedded copies of the models, nearly all of the bytes, are dropped as they arrive.
struct MappingXMLReader {
    private static let droppedAttributes: Set = ["sourcemodeldata", "destinationmodeldata"]
    /// Real files are three deep.
    private static let depthLimit = 16
    /// Of what is kept, with a share for each object and name: the largest known mapping models have 2 MB of it.
    private static let keptLimit = 32 << 20
    private static let objectBytes = 200

    private var tokens: XMLTokenizer
    private var objects: [String: MappingXMLObject] = [:]
    private var depth = 0
    private var object: (identifier: String, value: MappingXMLObject)?
    private var attribute: String?
    private var text = ""
    private var kept = 0

    /// Reads the whole stream; messages give the file by this name.
    ///
    /// - Returns: Identifier to object, orphans included.
    /// - Throws: ``FerryError`` `.badMapping` with the line where the text is not what it should be.
    static func read(_ stream: MappingFileStream, file: String) throws(FerryError) -> [String: MappingXMLObject] {
        let tokens = XMLTokenizer(depthLimit: depthLimit) { reason, line in
            FerryError(
                .badMapping, "\(file):\(line): \(reason).",
                remedy: "Open the mapping model in Xcode and save it again, or take an undamaged copy.")
        } fill: { () throws(FerryError) in
            try stream.next()
        }
        var reader = MappingXMLReader(tokens: tokens)
        while let token = try reader.tokens.next() { try reader.take(token) }
        return reader.objects
    }

    private init(tokens: XMLTokenizer) { self.tokens = tokens }

    // MARK: Elements

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
            throw tokens.problem("this is no mapping model: its root element is <\(element)>, not <database>")
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
        if kept > Self.keptLimit { throw tokens.problem("there is more in it than in any mapping model") }
    }
}
