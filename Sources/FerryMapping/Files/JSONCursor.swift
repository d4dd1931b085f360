internal import FerryBase

/// A value of a mapping file together with its path, so that every complaint names both file, line and path.
struct JSONCursor {
    /// The file's name, for messages.
    let file: String
    let path: String
    let node: JSONNode

    // MARK: Complaints

    func error(_ message: String, line: Int? = nil, remedy: String = "") -> FerryError {
        let place = path.isEmpty ? "" : "\(path): "
        let stop = message.hasSuffix("?") || message.hasSuffix(".") ? "" : "."
        return FerryError(.badMapping, "\(file):\(line ?? node.line): \(place)\(message)\(stop)", remedy: remedy)
    }

    private func expected(_ wanted: String) -> FerryError { error("expected \(wanted), found \(node.kind)") }

    // MARK: Values

    func string() throws(FerryError) -> String {
        guard case .string(let text) = node.value else { throw expected("a string") }
        return text
    }

    /// A string that names something.
    func name() throws(FerryError) -> String {
        let name = try string()
        if name.isEmpty { throw error("a name cannot be empty") }
        return name
    }

    func boolean() throws(FerryError) -> Bool {
        guard case .boolean(let value) = node.value else { throw expected("true or false") }
        return value
    }

    /// A text that stands for one that is still to be written: it begins with `?`.
    var openText: String? {
        if case .string(let text) = node.value, text.hasPrefix("?") { text } else { nil }
    }

    var isNull: Bool {
        if case .null = node.value { true } else { false }
    }

    func elements() throws(FerryError) -> [JSONCursor] {
        guard case .array(let elements) = node.value else { throw expected("an array") }
        return elements.enumerated().map { JSONCursor(file: file, path: "\(path)[\($0.offset)]", node: $0.element) }
    }

    /// A list of names, none of them twice.
    func names() throws(FerryError) -> [String] {
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
    func members() throws(FerryError) -> [(key: String, value: JSONCursor)] {
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
    func members(allowing keys: [String]) throws(FerryError) -> [String: JSONCursor] {
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
        JSONCursor(file: file, path: path.isEmpty ? key : "\(path).\(key)", node: node)
    }
}
