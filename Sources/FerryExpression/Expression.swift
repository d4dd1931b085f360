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

    package enum Constant: Sendable, Hashable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case double(Double)
        case string(String)
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

    package struct Comparison: Sendable, Hashable {
        package enum Operator: String, Sendable, Hashable {
            case equal = "=="
            case notEqual = "!="
            case less = "<"
            case lessOrEqual = "<="
            case greater = ">"
            case greaterOrEqual = ">="
            case matches = "MATCHES"
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
