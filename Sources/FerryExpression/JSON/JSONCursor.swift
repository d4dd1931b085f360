package import FerryBase

/// A value of a file that is written by hand, together with its path: every complaint names file, line and path.
package struct JSONCursor {
    /// The file's name, for messages.
    private let file: String
    private let path: String
    package let node: JSONNode
    /// The code of complaints.
    private let code: FerryError.Code

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - file: The file's name, for messages.
    ///   - code: The code of errors.
    /// - Throws: An error of that code where the text is no JSON.
    package init(_ bytes: [UInt8], of file: String, code: FerryError.Code) throws(FerryError) {
        let root: JSONNode
        do {
            root = try JSONNode.parse(bytes)
        } catch {
            throw FerryError(code, "\(file):\(error.line): this is not JSON: \(error.message).")
        }
        self.init(file: file, path: "", node: root, code: code)
    }

    private init(file: String, path: String, node: JSONNode, code: FerryError.Code) {
        self.file = file
        self.path = path
        self.node = node
        self.code = code
    }

    // MARK: Complaints

    package func error(_ message: String, line: Int? = nil, remedy: String = "") -> FerryError {
        let place = path.isEmpty ? "" : "\(path): "
        let stop = message.hasSuffix("?") || message.hasSuffix(".") ? "" : "."
        return FerryError(code, "\(file):\(line ?? node.line): \(place)\(message)\(stop)", remedy: remedy)
    }

    package func expected(_ wanted: String) -> FerryError { error("expected \(wanted), found \(node.kind)") }

    // MARK: Values

    package func string() throws(FerryError) -> String {
        guard case .string(let text) = node.value else { throw expected("a string") }
        return text
    }

    /// A string that names something.
    package func name() throws(FerryError) -> String {
        let name = try string()
        if name.isEmpty { throw error("a name cannot be empty") }
        return name
    }

    package func boolean() throws(FerryError) -> Bool {
        guard case .boolean(let value) = node.value else { throw expected("true or false") }
        return value
    }

    /// A text that stands for one that is still to be written: it begins with `?`.
    package var openText: String? {
        if case .string(let text) = node.value, text.hasPrefix("?") { text } else { nil }
    }

    package var isNull: Bool {
        if case .null = node.value { true } else { false }
    }

    package func elements() throws(FerryError) -> [JSONCursor] {
        guard case .array(let elements) = node.value else { throw expected("an array") }
        return elements.enumerated().map { at("\(path)[\($0.offset)]", $0.element) }
    }

    /// A list of names, none of them twice.
    package func names() throws(FerryError) -> [String] {
        var names: [String] = []
        for element in try elements() {
            let name = try element.name()
            if names.contains(name) { throw element.error("\"\(name)\" is named twice") }
            names.append(name)
        }
        return names
    }

    // MARK: Objects

    /// The members of an object, in the order of the file, none of them twice.
    package func members() throws(FerryError) -> [(key: String, value: JSONCursor)] {
        guard case .object(let members) = node.value else { throw expected("an object") }
        var lines: [String: Int] = [:]
        for member in members {
            if let first = lines.updateValue(member.line, forKey: member.key) {
                throw child(member.key, member.value).error(
                    "the key stands twice, first on line \(first)", line: member.line)
            }
        }
        return members.map { ($0.key, child($0.key, $0.value)) }
    }

    /// The members of an object whose keys are fixed.
    package func members(allowing keys: [String]) throws(FerryError) -> [String: JSONCursor] {
        let members = try members()
        guard case .object(let raw) = node.value else { throw expected("an object") }
        for (member, key) in zip(raw, members.map(\.key)) where !keys.contains(key) {
            let hint =
                NearNames.near(to: key, among: keys).first.map { "did you mean \"\($0)\"?" }
                ?? "known are \(keys.joined(separator: ", "))"
            throw child(key, member.value).error("unknown key; \(hint)", line: member.line)
        }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) })
    }

    private func child(_ key: String, _ node: JSONNode) -> JSONCursor {
        at(path.isEmpty ? key : "\(path).\(key)", node)
    }

    private func at(_ path: String, _ node: JSONNode) -> JSONCursor {
        JSONCursor(file: file, path: path, node: node, code: code)
    }
}
