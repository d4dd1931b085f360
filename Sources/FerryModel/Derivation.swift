/// What a derived attribute is computed from: its derivation expression, taken apart.
package enum Derivation: Sendable, Hashable {
    /// The value at the end of a path of to-one relationships; of length 1, another attribute of the object itself.
    case value(path: [String])
    /// The same through `canonical:`, `uppercase:` or `lowercase:`.
    case function(String, path: [String])
    /// How many objects a to-many relationship has.
    case count(relationship: String)
    /// The sum of an attribute over the objects of a to-many relationship.
    case sum(relationship: String, attribute: String)
    /// `now()`: when the object was last saved.
    case now

    /// Nil for what is none of the forms that Core Data documents.
    ///
    /// - Parameter text: The expression as a source file has it.
    package init?(_ text: String) {
        let text = text.filter { !$0.isWhitespace }
        if text == "now()" {
            self = .now
            return
        }
        if let (function, argument) = Self.call(text) {
            let path = argument.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.allSatisfy(Self.isName) else { return nil }
            switch function {
            case "canonical:", "uppercase:", "lowercase:": self = .function(function, path: path)
            case "count:" where path.count == 1: self = .count(relationship: path[0])
            case "sum:" where path.count == 2: self = .sum(relationship: path[0], attribute: path[1])
            default: return nil
            }
            return
        }
        let path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let names = path.filter { !$0.hasPrefix("@") }
        guard !names.isEmpty, names.allSatisfy(Self.isName) else { return nil }
        switch (path.first { $0.hasPrefix("@") }, names.count, path.count) {
        case (nil, _, _): self = .value(path: names)
        case ("@count", 1, 2) where path[1] == "@count": self = .count(relationship: names[0])
        // Both places of the operator are seen in public examples.
        case ("@sum", 2, 3), ("@total", 2, 3): self = .sum(relationship: names[0], attribute: names[1])
        default: return nil
        }
    }

    /// The properties that lead to one value; nil for the forms that count, sum or tell the time.
    package var path: [String]? {
        switch self {
        case .value(let path), .function(_, let path): path
        case .count, .sum, .now: nil
        }
    }

    /// Whether two derivations differ in names only.
    package func isSameForm(as other: Derivation) -> Bool {
        switch (self, other) {
        case (.value(let path), .value(let otherPath)): path.count == otherPath.count
        case (.function(let function, let path), .function(let otherFunction, let otherPath)):
            function == otherFunction && path.count == otherPath.count
        case (.count, .count), (.sum, .sum), (.now, .now): true
        default: false
        }
    }

    private static func call(_ text: String) -> (function: String, argument: String)? {
        guard text.hasSuffix(")"), let parenthesis = text.firstIndex(of: "("), parenthesis != text.startIndex else {
            return nil
        }
        return (String(text[..<parenthesis]), String(text[text.index(after: parenthesis)...].dropLast()))
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
}

extension Attribute {
    /// The derivation, or nil when the attribute is not derived or in no form that is known.
    package var derivation: Derivation? { derivationExpression.flatMap { Derivation($0) } }
}
