internal import FerryBase

/// `ferry_evaluate`: runs a computation that came as a value (``ComputationProgram``), because it is deeper than
/// SQLite's parser reads.
extension ScalarFunction {
    package static let evaluateName = "ferry_evaluate"

    static let programs: [ScalarFunction] = [
        ScalarFunction(evaluateName, title: "an expression", arguments: -1) { arguments, result throws(FerryError) in
            guard case .blob(let program)? = arguments.first else {
                throw .row("ferry_evaluate", "was given no program")
            }
            try result.programs.evaluator(of: program, argumentCount: arguments.count - 1)
                .evaluate(UnsafeBufferPointer(rebasing: arguments.dropFirst()), &result)
        }
    ]
}

/// The few programs that a statement has, each made ready once.
struct ProgramCache {
    private var known = RecentValues<(program: [UInt8], argumentCount: Int), ProgramEvaluator>()

    mutating func evaluator(
        of program: UnsafeRawBufferPointer, argumentCount: Int
    ) throws(FerryError) -> ProgramEvaluator {
        let found = known.first {
            $0.argumentCount == argumentCount && $0.program.count == program.count && program.elementsEqual($0.program)
        }
        if let found { return found }
        let evaluator = try ProgramEvaluator(program, argumentCount: argumentCount)
        return known.keep(evaluator, for: (Array(program), argumentCount))
    }
}

/// One program with the arguments of the call at hand.
final class ProgramEvaluator: RowValues {
    private let evaluator: RowEvaluator
    private var values: [FunctionValue] = []

    init(_ program: UnsafeRawBufferPointer, argumentCount: Int) throws(FerryError) {
        var places = NoPlaces()
        evaluator = try RowEvaluator(
            try ComputationProgram.read(program, argumentCount: argumentCount), now: 0, places: &places)
    }

    func value(at place: Int) -> FunctionValue { values[place] }

    func evaluate(_ arguments: ScalarFunction.Arguments, _ result: inout FunctionResult) throws(FerryError) {
        values.removeAll(keepingCapacity: true)
        values.append(contentsOf: arguments)
        do {
            result.set(try evaluator.value(in: self))
        } catch let error as FerryError {
            throw error
        } catch {
            throw .row("an expression", "could not be evaluated")
        }
    }

    private struct NoPlaces: PlaceResolver {
        mutating func place(of path: ResolvedPath) throws(FerryError) -> Int { throw Self.none }
        mutating func elementTextPlace() throws(FerryError) -> Int { throw Self.none }
        static var none: FerryError { .row("ferry_evaluate", "was given no program") }
    }
}
