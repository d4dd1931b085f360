/// The type of an attribute, by Core Data's public codes.
package enum AttributeType: Int, Sendable, Hashable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binary = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    case objectID = 2000
    case composite = 2100

    package var isInteger: Bool { self == .integer16 || self == .integer32 || self == .integer64 }
    package var isNumeric: Bool {
        isInteger || self == .decimal || self == .double || self == .float || self == .boolean
    }
}

/// The default value of an attribute, as its type stores it.
package enum DefaultValue: Sendable, Hashable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

package struct Attribute: Sendable, Hashable {
    package var name: String
    package var type: AttributeType
    package var isOptional: Bool
    package var isTransient: Bool
    package var defaultValue: DefaultValue?
    package var allowsExternalStorage: Bool
    package var preservesValueAfterDeletion: Bool
    /// `indexed="YES"` of older files.
    package var isIndexed: Bool
    /// The derivation expression's text, for derived attributes.
    package var derivationExpression: String?
    /// The name of the composite in ``ManagedObjectModel/composites``.
    package var compositeName: String?
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    package var valueTransformerName: String?
    package var valueClassName: String?
    package var userInfo: [String: String]
    package var validation = AttributeValidation()
    /// Values of an archive under keys without a property here; only for archiving the model again.
    package var archived: [String: ArchivedValue] = [:]

    package init(
        name: String, type: AttributeType, isOptional: Bool = false, isTransient: Bool = false,
        defaultValue: DefaultValue? = nil, allowsExternalStorage: Bool = false,
        preservesValueAfterDeletion: Bool = false, isIndexed: Bool = false, derivationExpression: String? = nil,
        compositeName: String? = nil, renamingIdentifier: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.defaultValue = defaultValue
        self.allowsExternalStorage = allowsExternalStorage
        self.preservesValueAfterDeletion = preservesValueAfterDeletion
        self.isIndexed = isIndexed
        self.derivationExpression = derivationExpression
        self.compositeName = compositeName
        self.renamingIdentifier = renamingIdentifier
        self.userInfo = userInfo
    }

    package var isDerived: Bool { derivationExpression != nil }
}

package struct Relationship: Sendable, Hashable {
    package enum DeleteRule: Int, Sendable, Hashable, CaseIterable {
        case noAction = 0
        case nullify = 1
        case cascade = 2
        case deny = 3

        /// The name in source files.
        var sourceName: String { ["No Action", "Nullify", "Cascade", "Deny"][rawValue] }
    }

    package var name: String
    package var destinationEntity: String
    package var inverseName: String?
    /// The entity that declares the inverse; may be an ancestor of the destination.
    package var inverseEntity: String?
    package var isOptional: Bool
    package var isTransient: Bool
    package var isOrdered: Bool
    package var minCount: Int
    /// 1 for to-one; 0 (or a model made in code: −1 or the largest integer) for unbounded to-many.
    package var maxCount: Int
    package var deleteRule: DeleteRule
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    package var userInfo: [String: String] = [:]

    package init(
        name: String, destinationEntity: String, inverseName: String? = nil, inverseEntity: String? = nil,
        isOptional: Bool = false, isTransient: Bool = false, isOrdered: Bool = false, minCount: Int = 0,
        maxCount: Int = 1, deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil
    ) {
        self.name = name
        self.destinationEntity = destinationEntity
        self.inverseName = inverseName
        self.inverseEntity = inverseEntity
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.isOrdered = isOrdered
        self.minCount = minCount
        self.maxCount = maxCount
        self.deleteRule = deleteRule
        self.renamingIdentifier = renamingIdentifier
    }

    package var isToMany: Bool { maxCount != 1 }

    /// Whether a mandatory relationship without objects is valid: Core Data counts those of a to-many relationship.
    ///
    /// SwiftData's arrays are such relationships.
    package var mayBeEmpty: Bool { isToMany && minCount == 0 }
}

/// The validation rules of an attribute that Xcode's model editor offers; no store holds them.
package struct AttributeValidation: Sendable, Hashable {
    /// The least number, length of a text, or date in seconds since 2001.
    package var minimum: Double?
    package var maximum: Double?
    /// A regular expression that a text matches as a whole.
    package var pattern: String?

    package init(minimum: Double? = nil, maximum: Double? = nil, pattern: String? = nil) {
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
    }

    /// Adds the rule of a predicate such as `SELF >= 3`, `length <= 5`, `SELF MATCHES "…"`; ignores others.
    ///
    /// - Returns: Whether the rule was added.
    @discardableResult
    mutating func add(predicate: String) -> Bool {
        let words = predicate.split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count == 3, words[0] == "SELF" || words[0] == "length" else { return false }
        switch words[1] {
        case ">=":
            guard let number = Double(words[2]) else { return false }
            minimum = number
        case "<=":
            guard let number = Double(words[2]) else { return false }
            maximum = number
        case "MATCHES" where words[2].count >= 2 && words[2].hasPrefix("\"") && words[2].hasSuffix("\""):
            var text = ""
            var isEscaped = false
            for character in words[2].dropFirst().dropLast() {
                if character == "\\", !isEscaped {
                    isEscaped = true
                } else {
                    text.append(character)
                    isEscaped = false
                }
            }
            pattern = text
        default: return false
        }
        return true
    }
}

/// The parsed derivation expression of a derived attribute.
package enum Derivation: Sendable, Hashable {
    /// The value at the end of a path of to-one relationships; of length 1, another attribute of the object itself.
    case value(path: [String])
    /// The value at the end of a path, through `canonical:`, `uppercase:` or `lowercase:`.
    case function(String, path: [String])
    /// The number of objects of a to-many relationship.
    case count(relationship: String)
    /// The sum of an attribute over the objects of a to-many relationship.
    case sum(relationship: String, attribute: String)
    /// `now()`: the time of the object's last save.
    case now

    /// Parses the expression of a source file; nil for a form that Core Data does not document.
    package init?(_ text: String) {
        let text = text.filter { !$0.isWhitespace }
        if text == "now()" {
            self = .now
            return
        }
        if let (function, argument) = Self.call(text) {
            let path = argument.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.allSatisfy(ManagedObjectModel.isName) else { return nil }
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
        guard !names.isEmpty, names.allSatisfy(ManagedObjectModel.isName) else { return nil }
        switch (path.first { $0.hasPrefix("@") }, names.count, path.count) {
        case (nil, _, _): self = .value(path: names)
        case ("@count", 1, 2) where path[1] == "@count": self = .count(relationship: names[0])
        // Public examples have the operator in both places.
        case ("@sum", 2, 3), ("@total", 2, 3): self = .sum(relationship: names[0], attribute: names[1])
        default: return nil
        }
    }

    /// The path to the single value; nil for `count`, `sum` and `now`.
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
}

extension Attribute {
    /// The derivation; nil if the attribute is not derived or its form is unknown.
    package var derivation: Derivation? { derivationExpression.flatMap { Derivation($0) } }
}
