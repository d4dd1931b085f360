/// What an expression comes to: columns, values and functions of ours, with the model's types already looked at.
///
/// It has two forms, which must not differ in any value: text of SQL (``SQLTranslator``), and the same run by Swift
/// (``RowEvaluator``).
package indirect enum Computation: Sendable, Hashable {
    /// SQL's own arithmetic, which is used on operands that are always stored as reals.
    package enum RealOperator: String, Sendable, Hashable {
        case plus = "+"
        case minus = "-"
        case times = "*"
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
    case real(RealOperator, Computation, Computation)
    case ifNull(Computation, Computation)
    /// Equality in which two nils are equal.
    case same(Computation, Computation)
    case isNull(Computation, negated: Bool)
    /// `<` and `<=` of numbers; false where one is nil.
    case precedes(Computation, Computation, orEqual: Bool)
    case all([Computation])
    case any([Computation])
    case not(Computation)
    /// The first value where a condition holds, else the second.
    case choose(Computation, Computation, Computation)
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

    package var callsPolicy: Bool {
        switch self {
        case .policy: true
        case .column, .elementText, .parameter, .argument: false
        case .call(_, let parts), .all(let parts), .any(let parts): parts.contains(where: \.callsPolicy)
        case .real(_, let left, let right), .ifNull(let left, let right), .same(let left, let right),
            .precedes(let left, let right, _):
            left.callsPolicy || right.callsPolicy
        case .isNull(let part, _), .not(let part): part.callsPolicy
        case .choose(let condition, let value, let other):
            condition.callsPolicy || value.callsPolicy || other.callsPolicy
        case .collection(let collection): collection.parts.contains(where: \.callsPolicy)
        }
    }
}
