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
    /// The text between the tags, without that of children.
    var text = ""

    subscript(attribute: String) -> String? { attributes[attribute] }

    /// Whether an attribute says `YES`; an absent one means no.
    func flag(_ attribute: String) -> Bool {
        switch attributes[attribute] {
        case "YES", "true", "1": true
        default: false
        }
    }

    func children(_ name: String) -> [SourceElement] { children.filter { $0.name == name } }

    /// Reads a document of bounded depth and number of elements, without entities of its own.
    ///
    /// Throws `.badModel` with the file's path when the bytes are no well-formed XML.
    static func parse(_ bytes: [UInt8], path: String) throws(FerryError) -> SourceElement {
        if let problem = XMLCheck.problem(of: bytes) { throw unreadable(path, problem.rawValue) }
        let builder = Builder()
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.shouldProcessNamespaces = false
        parser.delegate = builder
        let succeeded = parser.parse()
        guard succeeded, builder.problem == nil, let root = builder.root else {
            let reason = builder.problem ?? "it is no well-formed XML"
            throw unreadable(path, "\(reason) (line \(parser.lineNumber))")
        }
        return root
    }

    private static func unreadable(_ path: String, _ reason: String) -> FerryError {
        FerryError(
            .badModel, "The model file \(path) cannot be read: \(reason).",
            remedy: "Open the model in Xcode and save it again, or take an undamaged copy.")
    }

    /// Puts the elements together as the parser reports them; only the open ones are held beside the tree.
    private final class Builder: NSObject, XMLParserDelegate {
        /// Real models are five deep.
        private static let depthLimit = 64
        /// The largest known models have 20,000.
        private static let countLimit = 200_000

        private var count = 0
        private var open: [SourceElement] = []
        private(set) var root: SourceElement?
        private(set) var problem: String?

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            guard open.count < Self.depthLimit else { return stop(parser, "its elements are nested too deep") }
            count += 1
            guard count <= Self.countLimit else {
                return stop(parser, "it has more than \(Self.countLimit) elements")
            }
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

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            // Between elements stands only white space, which nothing needs.
            if !open.isEmpty, !string.allSatisfy(\.isWhitespace) { open[open.count - 1].text += string }
        }

        private func stop(_ parser: XMLParser, _ reason: String) {
            problem = problem ?? reason
            parser.abortParsing()
        }
    }
}
