internal import FerryModel

/// A translated expression: columns, values and Ferry's functions, with the model's types already checked.
///
/// A computation runs as SQL text (``SQLTranslator``) or, bound to a row, in Swift (``RowEvaluator``); both must give equal
/// values.
package indirect enum Computation: Sendable, Hashable {
    /// An operator of SQL on other computations.
    package enum Operator: Sendable {
        /// Arithmetic on operands that are always stored as reals.
        case plus, minus, times
        /// The first operand, or the second if the first is nil.
        case ifNull
        /// Equality; two nils are equal.
        case same
        case isNull, isNotNull
        /// `<` and `<=` of numbers; false if an operand is nil.
        case less, lessOrEqual
        /// AND and OR of any number of conditions.
        case all, any
        case not
        /// The second operand if the first is true, else the third.
        case choose
        /// The operand, or nil if it cannot be computed.
        case orNil
        /// Whether the operand cannot be computed.
        case fails

        /// The symbols on SQLite's parser stack beside the first operand and beside each other operand.
        fileprivate var symbols: (first: Int, others: Int) {
            switch self {
            case .same: (0, 2)
            case .isNull, .isNotNull, .orNil, .fails: (0, 0)
            // Conditions are in groups, each in parentheses.
            case .plus, .minus, .times, .less, .lessOrEqual, .all, .any: (1, 3)
            case .not: (2, 2)
            case .ifNull, .choose: (3, 5)
            }
        }
    }

    /// The column at the end of a path.
    case column(ResolvedPath)
    /// The JSON text of the iteration's element.
    case elementText
    /// The index of the iteration's element.
    case elementPosition
    case parameter(SQLParameter)
    /// An argument of a ``BoundComputation``, by its index.
    case argument(Int)
    /// A scalar function of Ferry, by its name in SQL.
    case call(String, [Computation])
    case operation(Operator, [Computation])
    /// A value of a collection's members.
    case collection(CollectionComputation)
    /// A function of the migration policy, which only Swift can call.
    case policy(String, [Computation])
}

extension Computation {
    /// The keys of a path into the iteration's JSON element, if the computation reads the value at its end.
    var elementKeys: [String]? {
        guard case .call("ferry_json_get", let arguments) = self, arguments.first == .elementText else { return nil }
        var keys: [String] = []
        for argument in arguments.dropFirst() {
            guard case .parameter(.constant(.string(let key))) = argument else { return nil }
            keys.append(key)
        }
        return keys
    }

    /// The direct operands.
    package var parts: [Computation] {
        switch self {
        case .column, .elementText, .elementPosition, .parameter, .argument: []
        case .call(_, let parts), .operation(_, let parts), .policy(_, let parts): parts
        case .collection(let collection): collection.parts
        }
    }

    /// Whether the computation calls a function of this name.
    package func calls(_ function: String) -> Bool {
        if case .call(function, _) = self { return true }
        return parts.contains { $0.calls(function) }
    }

    package var callsPolicy: Bool {
        if case .policy = self { true } else { parts.contains(where: \.callsPolicy) }
    }

    /// Whether some sound stored value may make the computation fail.
    package var mayFail: Bool {
        switch self {
        case .column, .elementText, .elementPosition, .parameter, .argument, .collection: false
        case .policy: true
        case .operation(.orNil, _), .operation(.fails, _): false
        case .operation(_, let parts): parts.contains(where: \.mayFail)
        case .call("ferry_json_get", _): false
        // Every value of JSON has a text.
        case .call("ferry_to_string", let parts): parts.contains(where: \.mayFail)
        case .call(let name, let parts):
            parts.contains(where: \.mayFail)
                || !(parts.count == 1 && parts[0].fits(name))
                    && !(ScalarFunction.takingAll.contains(name) && parts.allSatisfy(\.hasOneType))
        }
    }

    /// Whether the values are not those of JSON, whose types differ.
    private var hasOneType: Bool {
        switch self {
        case .elementText, .call("ferry_json_get", _): return false
        case .column(let path):
            if case .json = path.end { return false }
            return true
        default: return parts.allSatisfy(\.hasOneType)
        }
    }

    /// Whether a conversion takes every value of the column, or of the function.
    private func fits(_ conversion: String) -> Bool {
        // No text of SQLite has more than 2³¹ code units.
        if case .call("ferry_length", _) = self {
            return conversion.hasPrefix("ferry_to_") && conversion != "ferry_to_integer16"
        }
        guard case .column(let path) = self, case .attribute(let attribute, _) = path.end else { return false }
        return (attribute.type.isNumeric || attribute.type == .date)
            && ["ferry_to_double", "ferry_to_decimal", "ferry_to_date", "ferry_to_string", "ferry_to_boolean"]
                .contains(conversion)
    }

    package static func all(_ conditions: [Computation]) -> Computation { .operation(.all, conditions) }
    package static func any(_ conditions: [Computation]) -> Computation { .operation(.any, conditions) }
    package static func not(_ condition: Computation) -> Computation { .operation(.not, [condition]) }
    static func constant(_ constant: Expression.Constant) -> Computation { .parameter(.constant(constant)) }
}

/// A value of a collection's members: their count, whether one exists, or an aggregate.
///
/// In SQL the value is a subquery, which both executors read like a column.
package struct CollectionComputation: Sendable, Hashable {
    package indirect enum Start: Sendable, Hashable {
        /// The members begin at the object at the end of a path of to-one relationships.
        case object(ResolvedPath)
        /// All objects of exactly one entity.
        case entity(String)
        /// The objects of several collections, each once; their ``CollectionComputation/value`` is the object's key.
        case objects(of: String, [CollectionComputation])
        /// The values of several collections, each once, without nil.
        case values([CollectionComputation])
    }

    package enum Aggregate: Sendable, Hashable {
        case exists
        case count
        /// An aggregate function of Ferry (``AggregateFunction``).
        case function(String)
        /// An aggregate function that reads the sorted values, each with their count.
        case sorted(String)
        /// The value of the member at an index, negative from the end.
        case element(Int64)
    }

    package var start: Start
    /// The relationships to the members; empty for an entity.
    package var hops: [ResolvedPath.Hop] = []
    /// The level of ``ResolvedPath/Start/member(_:)`` in the collection's parts.
    package var level: Int
    /// The conditions on members.
    package var filters: [Computation] = []
    package var value: Computation?
    package var aggregate = Aggregate.count
    /// Whether equal values count once, and nil does not count.
    package var isDistinct = false

    package var parts: [Computation] {
        filters + (value.map { [$0] } ?? []) + united.flatMap(\.parts)
    }

    /// The collections of a union.
    package var united: [CollectionComputation] {
        switch start {
        case .object, .entity: []
        case .objects(_, let collections), .values(let collections): collections
        }
    }

    /// The number of nested unions; each is a subquery.
    var unionDepth: Int { united.isEmpty ? 0 : 1 + (united.map(\.unionDepth).max() ?? 0) }
}

extension Computation {
    /// The part of the 100 symbols of SQLite's parser stack that a computation may take.
    ///
    /// The statement, with its subqueries, takes the rest. (A newer SQLite has no such limit, but a run may have an
    /// older one.) A deeper computation becomes one call of `ferry_evaluate`.
    package static let depthLimit = 60

    /// The most symbols that SQLite's parser holds at once while it reads the computation's text.
    ///
    /// A call holds its name, a parenthesis, an empty DISTINCT and, but for the first argument, the arguments so far
    /// with a comma. An operator holds its left side and itself.
    package var depth: Int {
        switch self {
        // A column with the name of its table, or the scope's replacement.
        case .column, .elementText, .elementPosition, .parameter, .argument: 5
        case .call(_, let parts), .policy(_, let parts): Self.depth(parts, first: 3, others: 5)
        case .operation(let symbol, let parts):
            Self.depth(parts, first: symbol.symbols.first, others: symbol.symbols.others) + (parts.count > 32 ? 6 : 0)
        // A deeper computation inside becomes a call of `ferry_evaluate`.
        case .collection(let collection):
            Self.collectionDepth * (1 + collection.unionDepth)
                + min(collection.parts.map(\.depth).max() ?? 0, Self.collectionPartDepth)
        }
    }

    /// The symbols of a subquery around its computations.
    static let collectionDepth = 20
    /// The symbols that its computations may take.
    static let collectionPartDepth = 25

    private static func depth(_ parts: [Computation], first: Int, others: Int) -> Int {
        var depth = 1
        for (place, part) in parts.enumerated() { depth = max(depth, part.depth + (place == 0 ? first : others)) }
        return depth
    }
}
