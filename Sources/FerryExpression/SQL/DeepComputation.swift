package import FerryBase

/// A computation that `ferry_evaluate` computes in Swift, because its text is too deep for SQLite's parser.
///
/// Parts that only the statement has (columns, JSON text, `now()`) are arguments.
package struct DeepComputation: Sendable, Hashable {
    /// The SQL function; its first argument is a ``DeepEvaluator``, bound by the statement.
    package static let function = "ferry_evaluate"
    /// SQLite allows 127 arguments of a function, of which the evaluator is one.
    package static let argumentLimit = 126

    /// The computation, with ``Computation/argument(_:)`` for the parts that the statement computes.
    fileprivate let computation: Computation
    /// The parts that the statement computes, in the order of the function's arguments after the evaluator.
    package let arguments: [Computation]

    /// - Returns: Nil if the computation calls the migration policy, or needs more arguments than a function has.
    package init?(_ computation: Computation) {
        guard !computation.callsPolicy else { return nil }
        var arguments: [Computation] = []
        self.computation = Self.replacing(computation, &arguments)
        self.arguments = arguments
        guard arguments.count <= Self.argumentLimit else { return nil }
    }

    private static func replacing(_ computation: Computation, _ arguments: inout [Computation]) -> Computation {
        switch computation {
        case .column, .elementText, .elementPosition, .parameter(.now), .argument, .policy, .collection:
            if let known = arguments.firstIndex(of: computation) { return .argument(known) }
            arguments.append(computation)
            return .argument(arguments.count - 1)
        case .parameter(.constant): return computation
        case .call(let name, let parts): return .call(name, parts.map { replacing($0, &arguments) })
        case .operation(let symbol, let parts): return .operation(symbol, parts.map { replacing($0, &arguments) })
        }
    }
}

/// Evaluates one ``DeepComputation`` for the calls of one statement.
package final class DeepEvaluator: RowValues {
    /// A failure is one of the calls.
    private let evaluator: Result<RowEvaluator, FerryError>
    private var values: [FunctionValue] = []

    package init(_ deep: DeepComputation) {
        do throws(FerryError) {
            var places = NoPlaces()
            evaluator = .success(try RowEvaluator(deep.computation, now: 0, places: &places))
        } catch {
            evaluator = .failure(error)
        }
    }

    package func value(at place: Int) -> FunctionValue { values[place] }

    /// Computes the value from the arguments of a call after the first one.
    package func call(_ arguments: ScalarFunction.Arguments, result: inout FunctionResult) throws(FerryError) {
        values.removeAll(keepingCapacity: true)
        values.append(contentsOf: arguments.dropFirst())
        do {
            result.set(try evaluator.get().value(in: self))
        } catch let error as FerryError {
            throw error
        } catch {
            throw .row("an expression", "it could not be evaluated")
        }
    }

    private struct NoPlaces: PlaceResolver {
        mutating func place(of path: ResolvedPath) throws(FerryError) -> Int { throw Self.none }
        mutating func elementTextPlace() throws(FerryError) -> Int { throw Self.none }
        static var none: FerryError { FerryError(.internalError, "A deep expression has a column.") }
    }
}
