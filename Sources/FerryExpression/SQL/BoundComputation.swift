/// A computation whose parts that only a row has (columns, JSON text, `now()`) are arguments: the form that Swift runs.
package struct BoundComputation: Sendable, Hashable {
    /// The SQL function of computations that are too deep for SQLite's parser, or go on after an error; its first argument
    /// is a ``RowEvaluator``, bound by the statement.
    package static let function = "ferry_evaluate"
    /// SQLite allows 127 arguments of a function, of which the evaluator is one.
    package static let argumentLimit = 126

    /// The computation, with ``Computation/argument(_:)`` for the parts that the row has.
    let computation: Computation
    /// The parts that the row has, in the order of the arguments.
    package let arguments: [Computation]

    package init(_ computation: Computation) {
        var arguments: [Computation] = []
        self.computation = Self.replacing(computation, &arguments)
        self.arguments = arguments
    }

    /// Whether SQL can call it: it does not call the migration policy, and needs no more arguments than a function has.
    package var isForSQL: Bool { !computation.callsPolicy && arguments.count <= Self.argumentLimit }

    /// Whether the row has the value itself.
    package var isArgument: Bool { computation == .argument(0) }

    private static func replacing(_ computation: Computation, _ arguments: inout [Computation]) -> Computation {
        switch computation {
        case .column, .elementText, .elementPosition, .parameter(.now), .argument, .collection:
            if let known = arguments.firstIndex(of: computation) { return .argument(known) }
            arguments.append(computation)
            return .argument(arguments.count - 1)
        case .parameter(.constant): return computation
        case .call(let name, let parts): return .call(name, parts.map { replacing($0, &arguments) })
        case .operation(let symbol, let parts): return .operation(symbol, parts.map { replacing($0, &arguments) })
        case .policy(let name, let parts): return .policy(name, parts.map { replacing($0, &arguments) })
        }
    }
}
