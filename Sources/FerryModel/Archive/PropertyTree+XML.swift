internal import FerryBase
internal import Foundation

extension PropertyTree {
    /// Reads a property list in XML form.
    ///
    /// - Throws: `badModel` with the file's path when the bytes are none.
    init(xml bytes: [UInt8], path: String) throws(FerryError) {
        let root = try SourceElement.parse(bytes, path: path)
        guard root.name == "plist", root.children.count == 1 else {
            throw Self.unreadable(path, "it is no property list")
        }
        try self.init(root.children[0], path: path)
    }

    /// Elements are nested no deeper than their parser allows.
    private init(_ element: SourceElement, path: String) throws(FerryError) {
        let text = element.text
        switch element.name {
        case "string": self = .string(text)
        case "true": self = .bool(true)
        case "false": self = .bool(false)
        case "integer":
            guard let number = Int64(text) else { throw Self.unreadable(path, "a whole number is none") }
            self = .integer(number)
        case "real":
            guard let number = Double(text) else { throw Self.unreadable(path, "a real number is none") }
            self = .real(number)
        case "data":
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
                throw Self.unreadable(path, "data is no Base64")
            }
            self = .data(Array(data))
        // No key that is read here has a date.
        case "date": self = .string(text)
        case "array":
            self = .array(try element.children.map { child throws(FerryError) in try PropertyTree(child, path: path) })
        case "dict":
            guard element.children.count.isMultiple(of: 2) else { throw Self.unreadable(path, "a key has no value") }
            var entries: [String: PropertyTree] = [:]
            for place in stride(from: 0, to: element.children.count, by: 2) {
                guard element.children[place].name == "key" else { throw Self.unreadable(path, "a key is missing") }
                entries[element.children[place].text] = try PropertyTree(element.children[place + 1], path: path)
            }
            self = .dictionary(entries)
        default: throw Self.unreadable(path, "it has an element of another kind")
        }
    }

    private static func unreadable(_ path: String, _ reason: String) -> FerryError {
        FerryError(
            .badModel, "The property list \(path) cannot be read: \(reason).", remedy: "Take an undamaged copy.")
    }
}
