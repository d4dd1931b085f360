internal import FerryBase

/// A value expression in Core Data's language, however it was written: as text or as a keyed archive.
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
    /// A predefined function by its selector: `multiply:by:`, `now`, `count:`; also what operators stand for.
    case predefined(String, [Expression])
    /// `JSON(expression, 'key')`: the elements of the array under a key of a JSON text (Ferry's own, only in `forEach`).
    case json(Expression, key: String)
    /// `TERNARY(predicate, value, other)`.
    case ternary(Predicate, Expression, Expression)
    /// `{a, b}`.
    case list([Expression])
    /// `SUBQUERY(collection, $name, predicate)`: the members that the predicate lets through.
    case subquery(Expression, variable: String, Predicate)
    /// The objects of exactly one source entity that a predicate on them lets through: what `FETCH(…)` yields.
    case fetch(entity: String, Predicate)
    /// One of several values: `list[0]`.
    case element(Expression, ElementIndex)

    /// `table:key:('name', value)`: what a table of the mapping file has for a value.
    package static let tableSelector = "table:key:"

    /// Every predefined function and every method of a value that is evaluated, by its selector.
    package static var evaluatedSelectors: [String] {
        let written = Set(ValueOperator.all.map(\.selector)).union(PredefinedFunction.refused.keys)
        let functions = PredefinedFunction.all.keys.filter { !written.contains($0) && $0 != "castObject:toType:" }
        return (functions + TypedFunction.methods.map(\.selector)).sorted()
    }

    /// The member that a quantified predicate looks at; no name that can be written is empty.
    package static let member = Expression.variable("")

    package enum Constant: Sendable, Hashable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case double(Double)
        case string(String)
    }
}

/// Which of several values is meant.
package enum ElementIndex: Sendable, Hashable {
    case at(Int64)
    case first
    case last
    /// Not a value but how many there are.
    case size

    /// The place, counted from the end where negative; nil for the size.
    var place: Int64? {
        switch self {
        case .at(let place): place
        case .first: 0
        case .last: -1
        case .size: nil
        }
    }

    /// `FIRST`, `LAST` or `SIZE`.
    init?(word: String) {
        switch word.uppercased() {
        case "FIRST": self = .first
        case "LAST": self = .last
        case "SIZE": self = .size
        default: return nil
        }
    }
}

/// One step of a key path.
package enum KeyPathStep: Sendable, Hashable {
    /// A property, or a white-listed key such as `length`.
    case key(String)
    /// A collection operator without its `@`: `count`, `distinctUnionOfSets`, …
    case collectionOperator(String)
}

/// A predicate in Core Data's language.
package indirect enum Predicate: Sendable, Hashable {
    case constant(Bool)
    case comparison(Comparison)
    case and([Predicate])
    case or([Predicate])
    case not(Predicate)
    /// `ANY collection …`: what is said of ``Expression/member``.
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
    /// The expressions that it is directly made of, those of its conditions among them.
    package var parts: [Expression] {
        switch self {
        case .constant, .evaluatedObject, .variable: []
        case .keyPath(let base, _): [base]
        case .function(let receiver, _, let arguments): [receiver] + arguments
        case .predefined(_, let operands), .list(let operands): operands
        case .json(let text, _): [text]
        case .ternary(let condition, let value, let other): condition.parts + [value, other]
        case .subquery(let collection, _, let condition): [collection] + condition.parts
        case .fetch(_, let condition): condition.parts
        case .element(let list, _): [list]
        }
    }
}

extension Predicate {
    /// The expressions that it compares.
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
    /// The expression with other ones in the places of some of its parts.
    ///
    /// - Parameter replace: Gives what stands for a part, or nil to look into it.
    /// - Returns: The same form where nothing is replaced.
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
        case .json(let text, let key): return .json(text.replacing(replace), key: key)
        case .ternary(let condition, let value, let other):
            return .ternary(condition.replacing(replace), value.replacing(replace), other.replacing(replace))
        case .list(let elements): return .list(elements.map { $0.replacing(replace) })
        case .subquery(let collection, let variable, let condition):
            return .subquery(collection.replacing(replace), variable: variable, condition.replacing(replace))
        case .element(let list, let index): return .element(list.replacing(replace), index)
        }
    }

    /// The expression with constants in the places of what Core Data binds beside `$source`, where that is known: by
    /// variable, then by keys (`$entityMapping.name`, `$propertyMapping.name`, …).
    package func binding(_ values: [String: [String: Constant]]) -> Expression {
        replacing { part in
            guard case .keyPath(.variable(let name), let steps) = part, let keys = steps.keys else { return nil }
            return values[name]?[keys.joined(separator: ".")].map { .constant($0) }
        }
    }

    /// The expression with what its random numbers are drawn by.
    ///
    /// - Parameter place: What tells this expression from all others of the step.
    /// - Returns: Each call that draws has the place, and its number in the expression.
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
    /// The predicate with the place in the mapping as what its random numbers are drawn by.
    package func drawing(at place: String) -> Predicate {
        var count = 0
        return replacing { $0.drawn(at: place, &count) }
    }

    /// The same for what a predicate compares.
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
    /// The keys; nil where there is a collection operator among them.
    package var keys: [String]? {
        var keys: [String] = []
        for case .key(let key) in self { keys.append(key) }
        return keys.count == count ? keys : nil
    }
}

extension Expression {
    /// The keys after `$source`, joined by dots, when the expression is nothing else: the name of an attribute, of an
    /// element of a composite (`composite.element`), or a path through relationships.
    package var sourceKeys: String? {
        guard case .keyPath(.variable("source"), let steps) = self else { return nil }
        return steps.keys?.joined(separator: ".")
    }

    /// The same path from `$source`, where the expression is a path from SELF: a value's SELF is its source object.
    package var fromSource: Expression {
        guard case .keyPath(.evaluatedObject, let steps) = self else { return self }
        return .keyPath(.variable("source"), steps)
    }

    /// The only key after `$source`, when the expression is nothing else: a property of the source object's own.
    package var sourceKey: String? {
        guard case .keyPath(.variable("source"), let steps) = self, steps.count == 1 else { return nil }
        return steps.keys?[0]
    }

    /// The fetch that a request stands for; nil for any other than the migration manager's for objects of the source.
    init?(fetchRequest request: Expression) throws(FerryError) {
        guard
            case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments) =
                request,
            arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
            case .constant(.string(let predicate)) = arguments[1]
        else { return nil }
        self = .fetch(entity: entity, try Predicate.parse(predicate))
    }

    /// `$source` and the keys of a dotted name.
    package init(sourceKeys: String) {
        self = .keyPath(.variable("source"), sourceKeys.split(separator: ".").map { .key(String($0)) })
    }
}
