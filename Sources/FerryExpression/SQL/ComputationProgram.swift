internal import FerryBase

/// A computation as bytes, which `ferry_evaluate` runs because its text is too deep for SQLite's parser.
///
/// The parts are in prefix order. Parts that only the statement has (columns, JSON text, `now()`) are arguments.
package struct ComputationProgram {
    /// SQLite allows 127 arguments of a function, of which the program is one.
    package static let argumentLimit = 126

    package private(set) var bytes: [UInt8] = []
    /// The parts that the statement computes, in the order of the function's arguments after the program.
    package private(set) var arguments: [Computation] = []

    private enum Code: UInt8 {
        case argument, null, boolean, integer, double, string, call
        /// This code and all larger ones are operators.
        case firstOperator
    }

    /// - Returns: Nil if the computation calls the migration policy, or needs more arguments than a function has.
    package init?(_ computation: Computation) {
        guard !computation.callsPolicy else { return nil }
        write(computation)
        guard arguments.count <= Self.argumentLimit else { return nil }
    }

    // MARK: Writing

    private mutating func write(_ computation: Computation) {
        switch computation {
        case .column, .elementText, .parameter(.now), .argument, .policy, .collection: writeArgument(computation)
        case .parameter(.constant(let constant)): write(constant)
        case .call(let name, let parts):
            write(.call)
            write(text: name)
            write(UInt64(parts.count))
            for part in parts { write(part) }
        case .operation(let symbol, let parts):
            bytes.append(Code.firstOperator.rawValue + symbol.rawValue)
            if symbol.operandCount == nil { write(UInt64(parts.count)) }
            for part in parts { write(part) }
        }
    }

    private mutating func writeArgument(_ computation: Computation) {
        let known = arguments.firstIndex(of: computation)
        if known == nil { arguments.append(computation) }
        write(.argument)
        write(UInt64(known ?? arguments.count - 1))
    }

    private mutating func write(_ constant: Expression.Constant) {
        switch constant {
        case .null: write(Code.null)
        case .boolean(let flag):
            write(.boolean)
            bytes.append(flag ? 1 : 0)
        case .integer(let integer):
            write(.integer)
            write(UInt64(bitPattern: integer))
        case .double(let double):
            write(.double)
            write(double.bitPattern)
        case .string(let string):
            write(.string)
            write(text: string)
        }
    }

    private mutating func write(_ code: Code) { bytes.append(code.rawValue) }

    private mutating func write(text: String) {
        write(UInt64(text.utf8.count))
        bytes += text.utf8
    }

    private mutating func write(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }

    // MARK: Reading

    /// Reads a computation with ``Computation/argument(_:)`` for bound values; throws `.rowFailed` for other bytes.
    static func read(_ bytes: UnsafeRawBufferPointer, argumentCount: Int) throws(FerryError) -> Computation {
        var reader = Reader(bytes: bytes, argumentCount: argumentCount)
        let computation = try reader.computation(depth: 0)
        guard reader.place == bytes.count else { throw reader.damaged }
        return computation
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        let argumentCount: Int
        var place = 0

        /// The limit of nesting: far more than any expression has, and few enough for the stack.
        static let depthLimit = 2_000

        var damaged: FerryError { .row("ferry_evaluate", "there is no program") }

        mutating func computation(depth: Int) throws(FerryError) -> Computation {
            guard depth < Self.depthLimit else { throw damaged }
            let byte = try byte()
            if byte >= Code.firstOperator.rawValue {
                guard let symbol = Computation.Operator(rawValue: byte - Code.firstOperator.rawValue) else {
                    throw damaged
                }
                return .operation(symbol, try computations(count: symbol.operandCount, depth))
            }
            switch Code(rawValue: byte) {
            case .argument:
                let index = try number()
                guard index < UInt64(argumentCount) else { throw damaged }
                return .argument(Int(index))
            case .null: return .constant(.null)
            case .boolean: return .constant(.boolean(try self.byte() != 0))
            case .integer: return .constant(.integer(Int64(bitPattern: try number())))
            case .double: return .constant(.double(Double(bitPattern: try number())))
            case .string: return .constant(.string(try text()))
            case .call:
                let name = try text()
                let parts = try computations(count: nil, depth)
                guard let function = ScalarFunction.named(name), function.takes(parts.count) else { throw damaged }
                return .call(name, parts)
            case .firstOperator, nil: throw damaged
            }
        }

        /// Reads `known` computations, or as many as the number before them says.
        private mutating func computations(count known: Int?, _ depth: Int) throws(FerryError) -> [Computation] {
            let count = if let known { UInt64(known) } else { try number() }
            // Each computation takes at least one byte.
            guard count <= UInt64(bytes.count - place) else { throw damaged }
            var parts: [Computation] = []
            for _ in 0..<count { parts.append(try computation(depth: depth + 1)) }
            return parts
        }

        private mutating func byte() throws(FerryError) -> UInt8 {
            guard place < bytes.count else { throw damaged }
            defer { place += 1 }
            return bytes[place]
        }

        private mutating func number() throws(FerryError) -> UInt64 {
            guard bytes.count - place >= 8 else { throw damaged }
            defer { place += 8 }
            return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }

        private mutating func text() throws(FerryError) -> String {
            let count = try number()
            guard count <= UInt64(bytes.count - place) else { throw damaged }
            defer { place += Int(count) }
            guard let text = String(utf8: UnsafeRawBufferPointer(rebasing: bytes[place..<place + Int(count)])) else {
                throw damaged
            }
            return text
        }
    }
}

/// `ferry_evaluate`: runs a ``ComputationProgram``, a bound value, because its text is too deep for SQLite's parser.
extension ScalarFunction {
    package static let evaluateName = "ferry_evaluate"

    static let programs: [ScalarFunction] = [
        ScalarFunction(evaluateName, title: "an expression", arguments: -1) { arguments, result throws(FerryError) in
            guard case .blob(let program)? = arguments.first else {
                throw .row("ferry_evaluate", "there is no program")
            }
            try result.programs.evaluator(of: program, argumentCount: arguments.count - 1)
                .evaluate(UnsafeBufferPointer(rebasing: arguments.dropFirst()), &result)
        }
    ]
}

/// The decoded programs of a statement.
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

/// One program with the arguments of the current call.
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
            throw .row("an expression", "it could not be evaluated")
        }
    }

    private struct NoPlaces: PlaceResolver {
        mutating func place(of path: ResolvedPath) throws(FerryError) -> Int { throw Self.none }
        mutating func elementTextPlace() throws(FerryError) -> Int { throw Self.none }
        static var none: FerryError { .row("ferry_evaluate", "there is no program") }
    }
}
