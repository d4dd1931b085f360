internal import FerryBase
package import FerryModel

/// A value expression in Core Data's language, from text or from a keyed archive.
package indirect enum Expression: Sendable, Hashable {
    case constant(Constant)
    /// `SELF`: the object under evaluation.
    case evaluatedObject
    /// `$name`, without the dollar sign.
    case variable(String)
    /// A path on another expression: `$source.a.b`, `SELF.x`, a bare `x` (on ``evaluatedObject``).
    case keyPath(Expression, [KeyPathStep])
    /// `FUNCTION(receiver, "selector:", arguments…)`.
    case function(receiver: Expression, selector: String, arguments: [Expression])
    /// A predefined function by its selector: `multiply:by:`, `now`, `count:`; operators are such functions too.
    ///
    /// ``call(_:_:)`` makes it, unless the function has a case of its own.
    case predefined(String, [Expression])
    /// `ifnil:then:(value, substitute)`: the value, or the substitute if the value is nil (only in Ferry).
    case ifNil(Expression, then: Expression)
    /// `JSON(expression, 'key')`: the elements of the array under a key of a JSON text (only in Ferry, in `forEach`).
    case json(Expression, key: String)
    /// `TERNARY(predicate, value, other)`.
    case ternary(Predicate, Expression, Expression)
    /// `{a, b}`.
    case list([Expression])
    /// `SUBQUERY(collection, $name, predicate)`: the members that pass the predicate.
    case subquery(Expression, variable: String, Predicate)
    /// The objects of exactly one source entity that pass a predicate: the result of `FETCH(…)`.
    case fetch(entity: String, Predicate)
    case element(Expression, ElementIndex)

    static let ifNilSelector = "ifnil:then:"

    /// The call of a predefined function by its selector.
    package static func call(_ selector: String, _ operands: [Expression]) -> Expression {
        guard selector == ifNilSelector, operands.count == 2 else { return .predefined(selector, operands) }
        return .ifNil(operands[0], then: operands[1])
    }

    /// `table:key:('name', value)`: the entry of a mapping file's table for a value.
    package static let tableSelector = "table:key:"

    /// `valid:as:named:(value, 'Integer 32', 'n')`: the value as an attribute stores it, or nil if that fails.
    ///
    /// Only rules with `onInvalid` make it.
    package static let validSelector = "valid:as:named:"
    /// `isInvalid:as:named:(value, 'Integer 32', 'n')`: whether the value cannot be stored in an attribute.
    package static let isInvalidSelector = "isInvalid:as:named:"

    /// The call of ``validSelector`` or ``isInvalidSelector`` for an attribute.
    package static func storing(_ value: Expression, in attribute: Attribute, _ selector: String) -> Expression {
        .predefined(
            selector, [value, .constant(.string(attribute.type.sourceName)), .constant(.string(attribute.name))])
    }

    /// The value and the attribute of a call of ``validSelector`` or ``isInvalidSelector``; nil for any other.
    package var storedValue: (value: Expression, attribute: Attribute)? {
        guard case .predefined(let selector, let operands) = self, operands.count == 3,
            selector == Self.validSelector || selector == Self.isInvalidSelector,
            case .constant(.string(let type)) = operands[1], let type = AttributeType(sourceName: type),
            case .constant(.string(let name)) = operands[2]
        else { return nil }
        return (operands[0], Attribute(name: name, type: type))
    }

    /// Whether the expression leaves out values that its attribute cannot take.
    package var mayLeaveOut: Bool {
        contains { if case .predefined(Self.validSelector, _) = $0 { true } else { false } }
    }

    /// The member in a quantified predicate; its name is empty, so that no text can contain it.
    package static let member = Expression.variable("")

    package enum Constant: Sendable, Hashable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case double(Double)
        case string(String)
    }
}

/// The index of an element: `list[0]`, `list[FIRST]`.
package enum ElementIndex: Sendable, Hashable {
    case at(Int64)
    case first
    case last
    /// The number of elements, not an element.
    case size

    /// The index, negative from the end; nil for the size.
    var place: Int64? {
        switch self {
        case .at(let place): place
        case .first: 0
        case .last: -1
        case .size: nil
        }
    }

    init?(word: String) {
        switch word.uppercased() {
        case "FIRST": self = .first
        case "LAST": self = .last
        case "SIZE": self = .size
        default: return nil
        }
    }
}

package enum KeyPathStep: Sendable, Hashable {
    /// A property, or a known key of a value such as `length`.
    case key(String)
    /// A collection operator without its `@`: `count`, `distinctUnionOfSets`, …
    case collectionOperator(String)

    /// Whether an operator computes one value of a collection.
    var isAggregate: Bool {
        if case .collectionOperator(let name) = self { AggregateFunction.operators.contains(name) } else { false }
    }
}

/// A predicate in Core Data's language.
package indirect enum Predicate: Sendable, Hashable {
    case constant(Bool)
    case comparison(Comparison)
    case and([Predicate])
    case or([Predicate])
    case not(Predicate)
    /// `ANY collection …`, with a condition on ``Expression/member``.
    case quantified(Quantifier, Expression, Predicate)

    package enum Quantifier: String, Sendable, Hashable {
        case any = "ANY"
        case all = "ALL"
        case none = "NONE"
    }

    package struct Comparison: Sendable, Hashable {
        package enum Operator: String, Sendable, Hashable {
            case equal = "=="
            case notEqual = "!="
            case less = "<"
            case lessOrEqual = "<="
            case greater = ">"
            case greaterOrEqual = ">="
            case matches = "MATCHES"
            case beginsWith = "BEGINSWITH"
            case endsWith = "ENDSWITH"
            case contains = "CONTAINS"
            case like = "LIKE"
            case isIn = "IN"
        }

        package var left: Expression
        package var comparator: Operator
        package var right: Expression
        /// Letters in brackets after a string operator: `c`, `d`, `n`, `l`.
        package var options: String

        package init(left: Expression, comparator: Operator, right: Expression, options: String = "") {
            self.left = left
            self.comparator = comparator
            self.right = right
            self.options = options
        }
    }
}

extension Expression {
    /// The direct operands, also of the expression's conditions.
    package var parts: [Expression] {
        switch self {
        case .constant, .evaluatedObject, .variable: []
        case .keyPath(let base, _): [base]
        case .function(let receiver, _, let arguments): [receiver] + arguments
        case .predefined(_, let operands), .list(let operands): operands
        case .ifNil(let value, let substitute): [value, substitute]
        case .json(let text, _): [text]
        case .ternary(let condition, let value, let other): condition.parts + [value, other]
        case .subquery(let collection, _, let condition): [collection] + condition.parts
        case .fetch(_, let condition): condition.parts
        case .element(let list, _): [list]
        }
    }

    /// Whether the expression or a part of it, at any depth, meets a condition.
    package func contains(where isWanted: (Expression) -> Bool) -> Bool {
        isWanted(self) || parts.contains { $0.contains(where: isWanted) }
    }
}

extension Predicate {
    /// The compared expressions.
    package var parts: [Expression] {
        switch self {
        case .constant: []
        case .comparison(let comparison): [comparison.left, comparison.right]
        case .and(let operands), .or(let operands): operands.flatMap(\.parts)
        case .not(let operand): operand.parts
        case .quantified(_, let collection, let condition): [collection] + condition.parts
        }
    }
}

extension Expression {
    /// Returns the expression with some parts replaced; `replace` returns nil to visit a part's own parts.
    package func replacing(_ replace: (Expression) -> Expression?) -> Expression {
        if let other = replace(self) { return other }
        switch self {
        case .constant, .evaluatedObject, .variable, .fetch: return self
        case .keyPath(let base, let steps): return .keyPath(base.replacing(replace), steps)
        case .function(let receiver, let selector, let arguments):
            return .function(
                receiver: receiver.replacing(replace), selector: selector,
                arguments: arguments.map { $0.replacing(replace) })
        case .predefined(let selector, let operands):
            return .predefined(selector, operands.map { $0.replacing(replace) })
        case .ifNil(let value, let substitute):
            return .ifNil(value.replacing(replace), then: substitute.replacing(replace))
        case .json(let text, let key): return .json(text.replacing(replace), key: key)
        case .ternary(let condition, let value, let other):
            return .ternary(condition.replacing(replace), value.replacing(replace), other.replacing(replace))
        case .list(let elements): return .list(elements.map { $0.replacing(replace) })
        case .subquery(let collection, let variable, let condition):
            return .subquery(collection.replacing(replace), variable: variable, condition.replacing(replace))
        case .element(let list, let index): return .element(list.replacing(replace), index)
        }
    }

    /// Returns the expression with constants for the variables that Core Data binds beside `$source`: by variable, then
    /// by keys (`$entityMapping.name`, `$propertyMapping.name`, …).
    package func binding(_ values: [String: [String: Constant]]) -> Expression {
        replacing { part in
            guard case .keyPath(.variable(let name), let steps) = part, let keys = steps.keys else { return nil }
            return values[name]?[keys.joined(separator: ".")].map { .constant($0) }
        }
    }

    /// Returns the expression with a seed in each call of a random function: the place, and the call's number.
    ///
    /// The place must differ between the expressions of a step.
    package func drawing(at place: String) -> Expression {
        var count = 0
        return replacing { $0.drawn(at: place, &count) }
    }

    fileprivate func drawn(at place: String, _ count: inout Int) -> Expression? {
        guard case .predefined(let selector, let operands) = self, selector.hasPrefix("random"),
            operands.count == (selector == "random" ? 0 : 1)
        else { return nil }
        count += 1
        let own = Expression.constant(.string("\(place)#\(count)"))
        return .predefined(selector, operands.map { $0.replacing { $0.drawn(at: place, &count) } } + [own])
    }
}

extension Predicate {
    /// Returns the predicate with a seed in each call of a random function.
    package func drawing(at place: String) -> Predicate {
        var count = 0
        return replacing { $0.drawn(at: place, &count) }
    }

    /// Returns the predicate with some parts of its expressions replaced.
    package func replacing(_ replace: (Expression) -> Expression?) -> Predicate {
        switch self {
        case .constant: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.replacing(replace)
            comparison.right = comparison.right.replacing(replace)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.replacing(replace) })
        case .or(let parts): return .or(parts.map { $0.replacing(replace) })
        case .not(let part): return .not(part.replacing(replace))
        case .quantified(let quantifier, let collection, let condition):
            return .quantified(quantifier, collection.replacing(replace), condition.replacing(replace))
        }
    }
}

extension [KeyPathStep] {
    /// The keys; nil if the path has a collection operator.
    package var keys: [String]? {
        var keys: [String] = []
        for case .key(let key) in self { keys.append(key) }
        return keys.count == count ? keys : nil
    }
}

extension Expression {
    /// The keys after `$source`, joined by dots: the name of an attribute, of an element of a composite
    /// (`composite.element`), or a path through relationships; nil for any other expression.
    package var sourceKeys: String? {
        guard case .keyPath(.variable("source"), let steps) = self else { return nil }
        return steps.keys?.joined(separator: ".")
    }

    /// The path from `$source` if the expression is a path from `SELF`: the `SELF` of a value is its source object.
    package var fromSource: Expression {
        guard case .keyPath(.evaluatedObject, let steps) = self else { return self }
        return .keyPath(.variable("source"), steps)
    }

    /// The only key after `$source`: a property of the source object; nil for any other expression.
    package var sourceKey: String? {
        guard case .keyPath(.variable("source"), let steps) = self, steps.count == 1 else { return nil }
        return steps.keys?[0]
    }

    /// The fetch of a request; nil unless the migration manager makes the request for objects of the source.
    init?(fetchRequest request: Expression) throws(FerryError) {
        guard
            case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments) =
                request,
            arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
            case .constant(.string(let predicate)) = arguments[1]
        else { return nil }
        self = .fetch(entity: entity, try Predicate.parse(predicate))
    }

    /// The key path of a dotted name from `$source`.
    package init(sourceKeys: String) {
        self = .keyPath(.variable("source"), sourceKeys.split(separator: ".").map { .key(String($0)) })
    }
}
