internal import FerryBase

/// An element of a source model's XML, or of a property list's.
struct SourceElement {
    var name: String
    var attributes: [String: String]
    var children: [SourceElement] = []
    /// The text between the tags, without that of children; of an element with children mostly white space.
    var text = ""

    /// Real models are five deep.
    private static let depthLimit = 64
    /// The largest known models have 20,000 elements.
    private static let countLimit = 200_000

    subscript(attribute: String) -> String? { attributes[attribute] }

    /// Whether an attribute says `YES`; an absent one means no.
    func flag(_ attribute: String) -> Bool {
        switch attributes[attribute] {
        case "YES", "true", "1": true
        default: false
        }
    }

    func children(_ name: String) -> [SourceElement] { children.filter { $0.name == name } }

    /// Reads a document of bounded depth and number of elements.
    ///
    /// Throws `.badModel` with the file's path when the bytes are no well-formed XML.
    static func parse(_ bytes: [UInt8], path: String) throws(FerryError) -> SourceElement {
        var rest = bytes
        var tokens = XMLTokenizer(depthLimit: depthLimit) { reason, line in
            FerryError(
                .badModel, "The model file \(path) cannot be read: \(reason) (line \(line)).",
                remedy: "Open the model in Xcode and save it again, or take an undamaged copy.")
        } fill: { () throws(FerryError) in
            defer { rest = [] }
            return rest
        }
        // Only the open elements are held beside the tree.
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
