internal import FerryBase
internal import Foundation

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

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
/// The two embedded copies of the models, nearly all of the bytes, are dropped as they arrive. Entities are neither
/// loaded nor expanded.
final class MappingXMLReader: NSObject, XMLParserDelegate {
    private static let droppedAttributes: Set = ["sourcemodeldata", "destinationmodeldata"]
    /// Of what is kept, with a share for each object and name: the largest known mapping models have 2 MB of it.
    private static let keptLimit = 32 << 20
    private static let objectBytes = 200

    private var objects: [String: MappingXMLObject] = [:]
    /// Names of the open elements, outermost first.
    private var open: [String] = []
    private var object: (identifier: String, value: MappingXMLObject)?
    private var attribute: String?
    private var text = ""
    private var problem: String?
    private var kept = 0

    /// Reads the whole stream; messages give the file by this name.
    ///
    /// - Returns: Identifier to object, orphans included.
    /// - Throws: ``FerryError`` `.badMapping` with the line where the text is not what it should be.
    static func read(_ stream: InputStream, file: String) throws(FerryError) -> [String: MappingXMLObject] {
        let reader = MappingXMLReader()
        let parser = XMLParser(stream: stream)
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        // What `parse()` returns says nothing on Linux: it is true for a truncated file too.
        _ = parser.parse()
        if let cause = stream.streamError {
            if let error = cause as? FerryError, error.code == .badMapping { throw error }
            throw FerryError(.fileFailed, "\(file) cannot be read.", cause: cause)
        }
        let line = parser.lineNumber
        if let problem = reader.problem {
            throw FerryError(.badMapping, "\(file):\(line): \(problem).")
        }
        if let error = parser.parserError {
            throw FerryError(.badMapping, "\(file):\(line): the XML is damaged or cut off.", cause: error)
        }
        return reader.objects
    }

    // MARK: Elements

    func parser(
        _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if open.isEmpty, element != "database" {
            stop(parser, "this is no mapping model: its root element is <\(element)>, not <database>")
        }
        switch (open.count, element) {
        case (1, "object"):
            guard let identifier = attributes["id"], let type = attributes["type"] else {
                stop(parser, "an object has no id or no type")
                break
            }
            if objects[identifier] != nil { stop(parser, "a second object has the id \(identifier)") }
            object = (identifier, MappingXMLObject(type: type))
        case (2, "attribute") where object != nil:
            if let name = attributes["name"], !Self.droppedAttributes.contains(name) { attribute = name }
        case (2, "relationship") where object != nil:
            if let name = attributes["name"], let identifiers = attributes["idrefs"] {
                object?.value.relationships[name] = identifiers.split(whereSeparator: \.isWhitespace).map(String.init)
            }
        default: break
        }
        open.append(element)
        keep(Self.objectBytes + attributes.values.reduce(0) { $0 + $1.utf8.count }, parser)
    }

    private func keep(_ bytes: Int, _ parser: XMLParser) {
        kept += bytes
        if kept > Self.keptLimit { stop(parser, "there is more in it than in any mapping model") }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard attribute != nil else { return }
        text += string
        keep(string.utf8.count, parser)
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        guard attribute != nil else { return }
        text += String(decoding: block, as: UTF8.self)
        keep(block.count, parser)
    }

    func parser(
        _ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?
    ) {
        open.removeLast()
        switch open.count {
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

    private func stop(_ parser: XMLParser, _ problem: String) {
        guard self.problem == nil else { return }
        self.problem = problem
        parser.abortParsing()
    }
}
