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
    /// The objects of exactly one source entity that a predicate on them lets through: what `FETCH(…)` asks for.
    case fetch(entity: String, Predicate)
    /// One of several values: `list[0]`.
    case element(Expression, ElementIndex)

    /// `table:key:('name', value)`: what a table of the mapping file has for a value.
    package static let tableSelector = "table:key:"

    /// Every predefined function and every method of a value that is evaluated, by its selector.
    package static var evaluatedSelectors: [String] {
        let written = Set(PredefinedFunction.operators.keys).union(PredefinedFunction.refused.keys)
        let functions = PredefinedFunction.all.keys.filter { !written.contains($0) && $0 != "castObject:toType:" }
        return (functions + ValueMethod.all.map(\.selector)).sorted()
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
