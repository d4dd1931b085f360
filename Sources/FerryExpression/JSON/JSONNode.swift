package import FerryBase

/// A value of a JSON text, with the line where it begins.
///
/// Foundation's readers keep neither lines nor repeated keys, but people write mapping files by hand.
package struct JSONNode: Sendable {
    package enum Value: Sendable {
        case null
        case boolean(Bool)
        /// The number's text, so that a whole number stays a whole number.
        case number(String)
        case string(String)
        case array([JSONNode])
        case object([Member])
    }

    package struct Member: Sendable {
        package let key: String
        package let line: Int
        package let value: JSONNode
    }

    package let value: Value
    package let line: Int

    var kind: String {
        switch value {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// The reason why a text is not JSON, with the line.
package struct JSONSyntaxError: Error {
    package let line: Int
    package let message: String
}

extension JSONNode {
    /// The JSON text of a scalar; nil for arrays and objects.
    package var scalarText: String? {
        switch value {
        case .null: "null"
        case .boolean(let flag): flag ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array, .object: nil
        }
    }

    /// Quotes a string as JSON; an expression also escapes U+007F, and its escapes have capital digits.
    package static func quoted(_ text: String, asExpression isExpression: Bool = false) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar < " " || isExpression && scalar == "\u{7F}":
                let digits = String(scalar.value, radix: 16, uppercase: isExpression)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension JSONNode {
    /// Reads one JSON text (RFC 8259), with lines and repeated keys.
    ///
    /// - Throws: ``JSONSyntaxError`` with the line of the first wrong byte.
    package static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONNode {
        guard String(utf8: bytes) != nil else { throw JSONSyntaxError(line: 1, message: "the text is not UTF-8") }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return try bytes.withUnsafeBufferPointer { text throws(JSONSyntaxError) in
            var reader = Reader(scanner: JSONScanner(UnsafeRawBufferPointer(text), at: start))
            return try reader.document()
        }
    }

    private struct Reader {
        /// The limit of nesting: far more than files written by hand need, and few enough for the stack.
        private static let depthLimit = 64

        var scanner: JSONScanner
        /// The line of the scanner's position at the last query.
        private var line = 1
        private var counted = 0

        init(scanner: JSONScanner) { self.scanner = scanner }

        mutating func document() throws(JSONSyntaxError) -> JSONNode {
            let node = try value(depth: 0)
            scanner.skipSpace()
            guard scanner.isAtEnd else { throw unexpected("the end of the file") }
            return node
        }

        private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONNode {
            let start = nextLine()
            guard depth <= Self.depthLimit else { throw error("nested more than \(Self.depthLimit) deep") }
            if scanner.pass(UInt8(ascii: "{")) { return JSONNode(value: .object(try members(depth)), line: start) }
            if scanner.pass(UInt8(ascii: "[")) { return JSONNode(value: .array(try elements(depth)), line: start) }
            return JSONNode(value: try scalar(), line: start)
        }

        private mutating func members(_ depth: Int) throws(JSONSyntaxError) -> [Member] {
            var members: [Member] = []
            if scanner.pass(UInt8(ascii: "}")) { return members }
            repeat {
                let start = nextLine()
                guard scanner.next == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
                let key = try string()
                guard scanner.pass(UInt8(ascii: ":")) else { throw unexpected("a colon after the key") }
                members.append(Member(key: key, line: start, value: try value(depth: depth + 1)))
            } while scanner.pass(UInt8(ascii: ","))
            guard scanner.pass(UInt8(ascii: "}")) else { throw unexpected("a comma or }") }
            return members
        }

        private mutating func elements(_ depth: Int) throws(JSONSyntaxError) -> [JSONNode] {
            var elements: [JSONNode] = []
            if scanner.pass(UInt8(ascii: "]")) { return elements }
            repeat { elements.append(try value(depth: depth + 1)) } while scanner.pass(UInt8(ascii: ","))
            guard scanner.pass(UInt8(ascii: "]")) else { throw unexpected("a comma or ]") }
            return elements
        }

        private mutating func scalar() throws(JSONSyntaxError) -> Value {
            if scanner.next == UInt8(ascii: "\"") { return .string(try string()) }
            let start = scanner.position
            do throws(JSONScanner.Problem) {
                let kind = try scanner.kind()
                let text = try scanner.value()
                switch kind {
                case .null: return .null
                case .true: return .boolean(true)
                case .false: return .boolean(false)
                default: return .number(String(decoding: text, as: UTF8.self))
                }
            } catch {
                // The scanner has read the beginning of a number.
                throw unexpected(scanner.position == start ? "a value" : "a digit, or a smaller number")
            }
        }

        private mutating func string() throws(JSONSyntaxError) -> String {
            do throws(JSONScanner.Problem) {
                var bytes: [UInt8] = []
                JSONString(try scanner.string()).unescape(into: &bytes)
                return String(decoding: bytes, as: UTF8.self)
            } catch {
                throw self.error(scanner.stringError)
            }
        }

        // MARK: Lines

        private mutating func nextLine() -> Int {
            scanner.skipSpace()
            return currentLine()
        }

        private mutating func currentLine() -> Int {
            line += scanner.text[counted..<scanner.position].count(where: { $0 == 0x0A })
            counted = scanner.position
            return line
        }

        private mutating func error(_ message: String) -> JSONSyntaxError {
            JSONSyntaxError(line: currentLine(), message: message)
        }

        private mutating func unexpected(_ wanted: String) -> JSONSyntaxError {
            error(scanner.isAtEnd ? "expected \(wanted), found the end of the file" : "expected \(wanted) here")
        }
    }
}

extension JSONScanner {
    /// The error in a string, at the position where its reading ended.
    fileprivate var stringError: String {
        guard let byte = next else { return "a string is not closed" }
        if byte < 0x20 { return "a string contains a control character; escape it" }
        if byte == UInt8(ascii: "\\") {
            guard position + 1 < text.count else { return "a string is not closed" }
            let letter = text[position + 1]
            if letter == UInt8(ascii: "u"), JSONString.codeUnit(in: text, at: position) == nil {
                return "\\u is not followed by four hexadecimal digits"
            }
            if !"\"\\/bfnrtu".utf8.contains(letter) {
                return "invalid escape after a backslash"
            }
        }
        return "\\u is half of a surrogate pair"
    }
}

/// A value of a file written by hand, with its path: each error names file, line and path.
package struct JSONCursor {
    private let file: String
    private let path: String
    package let node: JSONNode
    private let code: FerryError.Code
    private let faults: JSONFaults?
}

/// Collects the errors of a file whose reader goes on after each; without it, the first one ends the reading.
package final class JSONFaults {
    package private(set) var errors: [FerryError] = []
    /// Whether a part was left out to which others may refer.
    package private(set) var hasGaps = false

    package init() {}

    fileprivate func add(_ error: FerryError, leavesGap: Bool) {
        errors.append(error)
        hasGaps = hasGaps || leavesGap
    }
}

extension JSONCursor {
    /// Reads the text of a file; all its errors have the code.
    package init(
        _ bytes: [UInt8], of file: String, code: FerryError.Code, faults: JSONFaults? = nil
    ) throws(FerryError) {
        let root: JSONNode
        do {
            root = try JSONNode.parse(bytes)
        } catch {
            throw FerryError(code, "\(file):\(error.line): this is not JSON: \(error.message).")
        }
        self.init(file: file, path: "", node: root, code: code, faults: faults)
    }

    /// Reads a part, and goes on after its error if the file's errors are collected.
    package func collecting(leavesGap: Bool = false, _ read: () throws(FerryError) -> Void) throws(FerryError) {
        guard let faults else { return try read() }
        do { try read() } catch { faults.add(error, leavesGap: leavesGap) }
    }

    // MARK: Errors

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

    /// Returns a string that is not empty.
    package func name() throws(FerryError) -> String {
        let name = try string()
        if name.isEmpty { throw error("a name cannot be empty") }
        return name
    }

    package func boolean() throws(FerryError) -> Bool {
        guard case .boolean(let value) = node.value else { throw expected("true or false") }
        return value
    }

    /// A placeholder for a text that the user must still write: it begins with `?`.
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

    /// Returns a list of names, each name once.
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

    /// Returns the members of an object, in the order of the file, each key once.
    package func members() throws(FerryError) -> [(key: String, value: JSONCursor)] {
        guard case .object(let members) = node.value else { throw expected("an object") }
        var lines: [String: Int] = [:]
        for member in members {
            if let first = lines.updateValue(member.line, forKey: member.key) {
                throw child(member.key, member.value).error(
                    "duplicate key (first on line \(first))", line: member.line)
            }
        }
        return members.map { ($0.key, child($0.key, $0.value)) }
    }

    /// Returns the members of an object with a fixed set of keys.
    package func members(allowing keys: [String]) throws(FerryError) -> [String: JSONCursor] {
        let members = try members()
        guard case .object(let raw) = node.value else { throw expected("an object") }
        for (member, key) in zip(raw, members.map(\.key)) where !keys.contains(key) {
            let hint =
                NearNames.near(to: key, among: keys).first.map { "did you mean \"\($0)\"?" }
                ?? "known keys: \(keys.joined(separator: ", "))"
            try collecting { () throws(FerryError) in
                throw child(key, member.value).error("unknown key; \(hint)", line: member.line)
            }
        }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) })
    }

    private func child(_ key: String, _ node: JSONNode) -> JSONCursor {
        at(path.isEmpty ? key : "\(path).\(key)", node)
    }

    private func at(_ path: String, _ node: JSONNode) -> JSONCursor {
        JSONCursor(file: file, path: path, node: node, code: code, faults: faults)
    }
}
