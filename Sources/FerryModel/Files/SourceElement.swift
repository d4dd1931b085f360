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
    /// - Parameter path: The file's path, for the error.
    /// - Throws: `.badModel` when the bytes are no well-formed XML.
    static func parse(_ bytes: [UInt8], path: String) throws(FerryError) -> SourceElement {
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

        func parser(_ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?) {
            stop(parser, "it declares entities of its own, which no model does")
        }

        private func stop(_ parser: XMLParser, _ reason: String) {
            problem = problem ?? reason
            parser.abortParsing()
        }
    }
}
