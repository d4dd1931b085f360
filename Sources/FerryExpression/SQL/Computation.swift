/// What an expression comes to: columns, values and functions of ours, with the model's types already looked at.
///
/// It has two forms, which must not differ in any value: text of SQL (``SQLTranslator``), and the same run by Swift
/// (``RowEvaluator``).
package indirect enum Computation: Sendable, Hashable {
    /// What is made of other computations, by SQL's own operators.
    package enum Operator: UInt8, Sendable {
        /// Arithmetic, which is used on operands that are always stored as reals.
        case plus, minus, times
        /// The first operand, or the second where that is nil.
        case ifNull
        /// Equality in which two nils are equal.
        case same
        case isNull, isNotNull
        /// `<` and `<=` of numbers; false where one is nil.
        case less, lessOrEqual
        /// Of any number of conditions.
        case all, any
        case not
        /// The second operand where the first holds, else the third.
        case choose

        /// How many operands it has; nil for any number.
        var operandCount: Int? {
            switch self {
            case .all, .any: nil
            case .isNull, .isNotNull, .not: 1
            case .plus, .minus, .times, .ifNull, .same, .less, .lessOrEqual: 2
            case .choose: 3
            }
        }

        /// What stands in SQL beside the first operand and beside each other one, in symbols of the parser.
        fileprivate var room: (first: Int, others: Int) {
            switch self {
            case .same: (0, 2)
            case .isNull, .isNotNull: (0, 0)
            // Conditions stand in groups, each of them in parentheses.
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
    case parameter(SQLParameter)
    /// An argument of `ferry_evaluate`, by its index (``ComputationProgram``).
    case argument(Int)
    /// A scalar function of ours, by its name in SQL.
    case call(String, [Computation])
    case operation(Operator, [Computation])
    /// What the members of a collection come to.
    case collection(CollectionComputation)
    /// A function of the migration policy, which only code can run.
    case policy(String, [Computation])
}

extension Computation {
    /// The keys of a path into the iteration's JSON element, where the computation reads what is at its end.
    var elementKeys: [String]? {
        guard case .call("ferry_json_get", let arguments) = self, arguments.first == .elementText else { return nil }
        var keys: [String] = []
        for argument in arguments.dropFirst() {
            guard case .parameter(.constant(.string(let key))) = argument else { return nil }
            keys.append(key)
        }
        return keys
    }

    /// Whether only the statement has it, so that a program cannot do it instead.
    var isStatementOwn: Bool {
        switch self {
        case .column, .elementText, .parameter, .argument, .collection: true
        default: false
        }
    }

    /// The computations that it is directly made of.
    package var parts: [Computation] {
        switch self {
        case .column, .elementText, .parameter, .argument: []
        case .call(_, let parts), .operation(_, let parts), .policy(_, let parts): parts
        case .collection(let collection): collection.parts
        }
    }

    package var callsPolicy: Bool {
        if case .policy = self { true } else { parts.contains(where: \.callsPolicy) }
    }

    package static func all(_ conditions: [Computation]) -> Computation { .operation(.all, conditions) }
    package static func any(_ conditions: [Computation]) -> Computation { .operation(.any, conditions) }
    package static func not(_ condition: Computation) -> Computation { .operation(.not, [condition]) }
    static func constant(_ constant: Expression.Constant) -> Computation { .parameter(.constant(constant)) }
}

/// What the members of a collection come to: how many they are, whether there is one, or a value of theirs.
///
/// In SQL it is a subquery, which both executors read as they read a column.
package struct CollectionComputation: Sendable, Hashable {
    package indirect enum Start: Sendable, Hashable {
        /// From the object at the end of a path of to-one relationships.
        case object(ResolvedPath)
        /// All objects of exactly one entity.
        case entity(String)
        /// The objects of several collections, each once; their ``CollectionComputation/value`` is the object's key.
        case objects(of: String, [CollectionComputation])
        /// The values of several collections, each once; nil is none.
        case values([CollectionComputation])
    }

    package enum Aggregate: Sendable, Hashable {
        case exists
        case count
        /// An aggregate function of ours (``AggregateFunction``).
        case function(String)
        /// The same, given the values in their own order, each with how many there are.
        case sorted(String)
        /// The value of the member at a place, counted from the end where negative.
        case element(Int64)
    }

    package var start: Start
    /// The relationships to the members; none from an entity.
    package var hops: [ResolvedPath.Hop] = []
    /// What ``ResolvedPath/Start/member(_:)`` in its parts is called.
    package var level: Int
    /// What all members that count must fulfil.
    package var filters: [Computation] = []
    /// The value of a member.
    package var value: Computation?
    package var aggregate = Aggregate.count
    /// Whether equal values count once, and nil not at all.
    package var isDistinct = false

    package var parts: [Computation] {
        filters + (value.map { [$0] } ?? []) + united.flatMap(\.parts)
    }

    /// The collections that it unites.
    package var united: [CollectionComputation] {
        switch start {
        case .object, .entity: []
        case .objects(_, let collections), .values(let collections): collections
        }
    }

    /// How many unions stand within each other; each is a subquery of its own.
    var unionDepth: Int { united.isEmpty ? 0 : 1 + (united.map(\.unionDepth).max() ?? 0) }
}

extension Computation {
    /// Of the 100 symbols that SQLite's parser has room for while it reads a statement, what a computation may take.
    ///
    /// The rest is the statement's own, with its subqueries. (A newer SQLite has no such bound, the one of the run counts.)
    /// What is deeper becomes one call of `ferry_evaluate`.
    package static let depthLimit = 60

    /// How many symbols SQLite's parser holds at once while it reads the computation's text.
    ///
    /// In a call these are name, parenthesis, an empty DISTINCT and, but for the first argument, what stands before it
    /// with a comma; beside an operator its left side and itself.
    package var depth: Int {
        switch self {
        // A column with the name of its table, or what the scope has instead of one.
        case .column, .elementText, .parameter, .argument: 5
        case .call(_, let parts), .policy(_, let parts): Self.depth(parts, first: 3, others: 5)
        case .operation(let symbol, let parts):
            Self.depth(parts, first: symbol.room.first, others: symbol.room.others) + (parts.count > 32 ? 6 : 0)
        // What stands inside of it is never deeper than the room that it is given.
        case .collection(let collection):
            Self.collectionDepth * (1 + collection.unionDepth)
                + min(collection.parts.map(\.depth).max() ?? 0, Self.collectionRoom)
        }
    }

    /// What a subquery takes around the computations in it.
    static let collectionDepth = 20
    /// What the computations in it may take.
    static let collectionRoom = 25

    private static func depth(_ parts: [Computation], first: Int, others: Int) -> Int {
        var depth = 1
        for (place, part) in parts.enumerated() { depth = max(depth, part.depth + (place == 0 ? first : others)) }
        return depth
    }
}
