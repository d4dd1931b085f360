internal import FerryExpression

/// A path in an expression whose value can be told from the expression's own, or is one that it computes anew.
///
/// Reading is not carrying: a count, a length, a test, a condition or a function that is not listed here reads a
/// property and loses it.
struct CarriedPath {
    /// `SELF`, `$source`, or the variable of an iteration.
    var base: Expression
    var keys: [String]
    /// Conditions on the source object under which the expression has the value.
    var conditions: [Predicate] = []
    /// Whether a function computes the value anew.
    var isTransformed = false
}

extension Expression {
    /// The carried paths; `isCollection` where the expression yields objects.
    func carriedPaths(ofObjects isCollection: Bool = false) -> [CarriedPath] {
        switch self {
        case .evaluatedObject, .variable: return [CarriedPath(base: self, keys: [])]
        case .keyPath(let base, let steps):
            guard let keys = steps.keys else { return [] }
            switch base {
            case .evaluatedObject, .variable: return [CarriedPath(base: base, keys: keys)]
            default: return keys.allSatisfy(Self.transformingKeys.contains) ? Self.transformed([base]) : []
            }
        case .ifNil(let value, let substitute):
            let isNil = Predicate.comparison(.init(left: value, comparator: .equal, right: .constant(.null)))
            return value.carriedPaths(ofObjects: isCollection)
                + substitute.carriedPaths(ofObjects: isCollection).map { $0.where(isNil) }
        case .ternary(let condition, let value, let other):
            return value.carriedPaths(ofObjects: isCollection).map { $0.where(condition) }
                + other.carriedPaths(ofObjects: isCollection).map { $0.where(.not(condition)) }
        case .predefined("noindex:", let operands): return operands[0].carriedPaths(ofObjects: isCollection)
        // A value that `onInvalid` leaves empty is counted with those that the attribute does not take.
        case .predefined("castObject:toType:", let operands), .predefined(Self.validSelector, let operands):
            return operands[0].carriedPaths()
        case .predefined(SetOperator.union.rawValue, let operands):
            return isCollection ? operands.flatMap { $0.carriedPaths(ofObjects: true) } : []
        case .predefined(let selector, let operands):
            return Self.transformingFunctions.contains(selector) ? Self.transformed(operands) : []
        case .function(let receiver, let selector, let arguments):
            return Self.transformingKeys.contains(selector) || Self.transformingFunctions.contains(selector)
                ? Self.transformed([receiver] + arguments) : []
        // Some of the objects, which only the run knows.
        case .subquery(let collection, _, _), .element(let collection, _):
            return isCollection ? collection.carriedPaths(ofObjects: true).map { $0.where(.constant(false)) } : []
        case .constant, .list, .json, .fetch: return []
        }
    }

    private static func transformed(_ operands: [Expression]) -> [CarriedPath] {
        let values = operands.flatMap { if case .list(let elements) = $0 { elements } else { [$0] } }
        return values.flatMap { $0.carriedPaths() }.map { path in
            var path = path
            path.isTransformed = true
            return path
        }
    }

    /// Functions whose one value is computed from each of their operands: arithmetic, text, case, formatting, dates.
    private static let transformingFunctions: Set<String> = [
        "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "floor:", "ceiling:", "trunc:", "abs:",
        "raise:toPower:", "sqrt:", "log:", "ln:", "exp:", "join:with:", tableSelector, "date:format:",
        "date:format:zone:", "text:format:", "text:format:zone:", "dateSince1970:", "secondsSince1970:", "hex:",
        "dataFromHex:", "base64:", "dataFromBase64:", "dataFromText:", "textFromData:", "uuid:", "uppercase:",
        "lowercase:", "canonical:", "stringByAppendingString:", "stringByReplacingOccurrencesOfString:withString:",
        "dateByAddingTimeInterval:", "timeIntervalSinceDate:",
    ]

    /// The like for methods without arguments, which a key path may name.
    static let transformingKeys: Set<String> = [
        "uppercaseString", "lowercaseString", "capitalizedString", "integerValue", "longLongValue", "intValue",
        "doubleValue", "floatValue", "stringValue", "absoluteString", "UUIDString", "timeIntervalSinceReferenceDate",
        "timeIntervalSince1970",
    ]
}

extension CarriedPath {
    fileprivate func `where`(_ condition: Predicate) -> CarriedPath {
        var path = self
        path.conditions.append(condition)
        return path
    }
}

extension Predicate {
    func isComplement(of other: Predicate) -> Bool {
        if self == .not(other) || other == .not(self) { return true }
        guard case .comparison(let first) = self, case .comparison(let second) = other else { return false }
        let pair = [first.comparator, second.comparator]
        return first.left == second.left && first.right == second.right && first.options == second.options
            && (pair == [.equal, .notEqual] || pair == [.notEqual, .equal])
    }

    /// Whether the predicate holds for every object with a value of a property.
    func holds(whereThereIs property: String) -> Bool {
        switch self {
        case .constant(let value): value
        case .and(let parts): parts.allSatisfy { $0.holds(whereThereIs: property) }
        case .or(let parts): parts.contains { $0.holds(whereThereIs: property) }
        case .comparison(let comparison): comparison.comparesWithNil(property, by: .notEqual)
        case .not(.comparison(let comparison)): comparison.comparesWithNil(property, by: .equal)
        case .not(.not(let inner)): inner.holds(whereThereIs: property)
        case .not, .quantified: false
        }
    }
}

extension Predicate.Comparison {
    fileprivate func comparesWithNil(_ property: String, by wanted: Operator) -> Bool {
        comparator == wanted && right == .constant(.null) && (left.sourceKeys ?? left.ownProperty) == property
    }
}

extension Expression {
    /// Whether a key path in the expression has a key, `alone` or behind a relationship or an element.
    func names(_ key: String, alone: Bool) -> Bool {
        contains { part in
            guard case .keyPath(let base, let steps) = part, steps.contains(.key(key)) else { return false }
            return alone || steps.first != .key(key) || (base != .evaluatedObject && base != .variable("source"))
        }
    }
}
