internal import FerryBase
internal import Foundation

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

/// An element of a source model's XML.
struct SourceElement {
    var name: String
    var attributes: [String: String]
    var children: [SourceElement] = []

    subscript(attribute: String) -> String? { attributes[attribute] }

    /// Whether an attribute says `YES`; an absent one means no.
    func flag(_ attribute: String) -> Bool {
        switch attributes[attribute] {
        case "YES", "true", "1": true
        default: false
        }
    }

    func children(_ name: String) -> [SourceElement] { children.filter { $0.name == name } }

    /// Reads a document of bounded depth, without external entities.
    ///
    /// Throws `.badModel` with the file's path when the bytes are no well-formed XML.
    static func parse(_ bytes: [UInt8], path: String) throws(FerryError) -> SourceElement {
        // No model declares entities; they could make a short file unfold to a long text.
        guard !declaresEntities(bytes) else {
            throw FerryError(
                .badModel, "The model file \(path) cannot be read: it declares XML entities, which no model does.",
                remedy: "Take an undamaged copy.")
        }
        let builder = Builder()
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.shouldProcessNamespaces = false
        parser.delegate = builder
        let succeeded = parser.parse()
        guard succeeded, builder.problem == nil, let root = builder.root else {
            let reason = builder.problem ?? "it is no well-formed XML"
            throw FerryError(
                .badModel, "The model file \(path) cannot be read: \(reason) (line \(parser.lineNumber)).",
                remedy: "Open the model in Xcode and save it again, or take an undamaged copy.")
        }
        return root
    }

    /// Whether `<!ENTITY` occurs, in UTF-8 or, with its zero bytes left out, in UTF-16.
    private static func declaresEntities(_ bytes: [UInt8]) -> Bool {
        let pattern = Array("<!ENTITY".utf8)
        var matched = 0
        for byte in bytes where byte != 0 {
            // "<" begins the pattern and occurs nowhere else in it.
            matched = byte == pattern[matched] ? matched + 1 : byte == pattern[0] ? 1 : 0
            if matched == pattern.count { return true }
        }
        return false
    }

    /// Puts the elements together as the parser reports them; only the open ones are held beside the tree.
    private final class Builder: NSObject, XMLParserDelegate {
        /// Real models are five deep.
        private static let depthLimit = 64

        private var open: [SourceElement] = []
        private(set) var root: SourceElement?
        private(set) var problem: String?

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            guard open.count < Self.depthLimit else { return stop(parser, "its elements are nested too deep") }
            open.append(SourceElement(name: name, attributes: attributes))
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            guard let element = open.popLast() else { return }
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(element)
            }
        }

        private func stop(_ parser: XMLParser, _ reason: String) {
            problem = problem ?? reason
            parser.abortParsing()
        }
    }
}
