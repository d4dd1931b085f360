package import FerryBase
package import FerryModel

/// Evaluates a computation for the arguments of one row after another, with the functions that SQL calls.
///
/// Evaluating allocates no memory per row: each call keeps its buffers. An evaluator belongs to one thread.
package final class RowEvaluator {
    private let root: Node

    fileprivate indirect enum Node {
        case argument(Int)
        case constant(FunctionValue, ByteHolder?)
        case call(Call)
        case operation(Computation.Operator, [Node])
        case policy(String, [Node], ByteHolder)
    }

    /// One call with its buffers, which every row reuses.
    fileprivate final class Call {
        let function: ScalarFunction
        let arguments: [Node]
        var values: [FunctionValue] = []
        var result = FunctionResult()
        let holder = ByteHolder()

        init(_ function: ScalarFunction, _ arguments: [Node]) {
            self.function = function
            self.arguments = arguments
        }
    }

    package init(_ bound: BoundComputation) {
        root = Self.node(bound.computation)
        callsPolicy = bound.computation.callsPolicy
    }

    /// Whether the computation is a single call of the policy, whose value the caller converts.
    package var isPolicyCall: Bool { if case .policy = root { true } else { false } }

    package let callsPolicy: Bool

    /// Returns the value for the arguments of one row; text and BLOBs are borrowed until the next call or the next row.
    package func value(
        of arguments: ScalarFunction.Arguments, policy: (any PolicyFunctions)? = nil
    ) throws -> FunctionValue {
        try evaluate(root, arguments, policy)
    }

    /// Computes the value as an SQL function, from the arguments after the evaluator itself.
    package func call(_ arguments: ScalarFunction.Arguments, result: inout FunctionResult) throws(FerryError) {
        do {
            result.set(try value(of: UnsafeBufferPointer(rebasing: arguments.dropFirst())))
        } catch let error as FerryError {
            throw error
        } catch {
            throw .row("an expression", "it could not be evaluated")
        }
    }

    // MARK: Building

    private static func node(_ computation: Computation) -> Node {
        switch computation {
        case .argument(let index): return .argument(index)
        case .parameter(.constant(let constant)):
            let holder = ByteHolder()
            return .constant(held(constant.stored, by: holder), holder)
        case .call(let name, let arguments):
            guard let function = ScalarFunction.named(name) else { preconditionFailure("there is no function \(name)") }
            return .call(Call(function, arguments.map(node)))
        case .operation(let symbol, let operands): return .operation(symbol, operands.map(node))
        case .policy(let name, let arguments): return .policy(name, arguments.map(node), ByteHolder())
        case .column, .elementText, .elementPosition, .parameter(.now), .collection:
            preconditionFailure("what only a row has is an argument")
        }
    }

    private static func held(_ value: DefaultValue?, by holder: ByteHolder) -> FunctionValue {
        switch value {
        case nil: .null
        case .integer(let integer)?: .integer(integer)
        // As in SQLite, NaN is nil.
        case .real(let real)?: real.isNaN ? .null : .real(real)
        case .text(let text)?: .text(holder.hold(Array(text.utf8)))
        case .blob(let bytes)?: .blob(holder.hold(bytes))
        }
    }

    // MARK: Evaluating

    private func evaluate(
        _ node: Node, _ row: ScalarFunction.Arguments, _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue {
        switch node {
        case .argument(let index): return row[index]
        case .constant(let value, _): return value
        case .call(let call): return try evaluate(call, row, policy)
        case .operation(let symbol, let operands): return try evaluate(symbol, operands, row, policy)
        case .policy(let name, let arguments, let holder):
            guard let policy else {
                throw FerryError(.internalError, "An expression calls \(name) where there is no migration policy.")
            }
            let values = try arguments.map { try evaluate($0, row, policy) }
            return Self.held(try policy.call(name, values), by: holder)
        }
    }

    private func evaluate(
        _ symbol: Computation.Operator, _ operands: [Node], _ row: ScalarFunction.Arguments,
        _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue {
        func value(_ index: Int) throws -> FunctionValue { try evaluate(operands[index], row, policy) }
        switch symbol {
        case .plus, .minus, .times: return try Self.compute(symbol, value(0), value(1))
        case .ifNull:
            let first = try value(0)
            return first.isNull ? try value(1) : first
        case .same: return Self.flag(ScalarFunction.isEqual(try value(0), try value(1)))
        case .isNull: return Self.flag(try value(0).isNull)
        case .isNotNull: return Self.flag(!(try value(0).isNull))
        case .less, .lessOrEqual:
            let (left, right) = (try value(0), try value(1))
            guard !left.isNull, !right.isNull else { return Self.flag(false) }
            let order = try ScalarFunction.order(left, right, symbol == .less ? "<" : "<=")
            return Self.flag(symbol == .less ? order < 0 : order <= 0)
        case .all, .any:
            let isAny = symbol == .any
            for operand in operands where Self.isTrue(try evaluate(operand, row, policy)) == isAny {
                return Self.flag(isAny)
            }
            return Self.flag(!isAny)
        case .not: return Self.flag(!Self.isTrue(try value(0)))
        case .choose: return try value(Self.isTrue(try value(0)) ? 1 : 2)
        case .orNil: return try attempt(operands[0], row, policy) ?? .null
        case .fails: return Self.flag(try attempt(operands[0], row, policy) == nil)
        }
    }

    /// The value; nil if a function does not take it.
    private func attempt(
        _ node: Node, _ row: ScalarFunction.Arguments, _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue? {
        do {
            return try evaluate(node, row, policy)
        } catch let error as FerryError where error.code == .rowFailed {
            return nil
        }
    }

    private func evaluate(
        _ call: Call, _ row: ScalarFunction.Arguments, _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue {
        call.values.removeAll(keepingCapacity: true)
        for argument in call.arguments { call.values.append(try evaluate(argument, row, policy)) }
        try call.values.withUnsafeBufferPointer { try call.function.call($0, result: &call.result) }
        switch call.result.value {
        case .null: return .null
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text: return .text(call.holder.hold(call.result.bytes))
        case .blob: return .blob(call.holder.hold(call.result.bytes))
        case .borrowedText(let bytes): return .text(bytes)
        case .argument(let index): return call.values[index]
        }
    }

    /// Computes arithmetic of reals; nil if an operand is nil or the result is NaN.
    private static func compute(
        _ symbol: Computation.Operator, _ left: FunctionValue, _ right: FunctionValue
    ) throws(FerryError) -> FunctionValue {
        let sign = symbol == .plus ? "+" : symbol == .minus ? "-" : "*"
        guard let left = try left.number(sign)?.real, let right = try right.number(sign)?.real else { return .null }
        let result = symbol == .plus ? left + right : symbol == .minus ? left - right : left * right
        return result.isNaN ? .null : .real(result)
    }

    private static func flag(_ holds: Bool) -> FunctionValue { .integer(holds ? 1 : 0) }

    private static func isTrue(_ value: FunctionValue) -> Bool {
        if case .integer(let integer) = value { integer != 0 } else { false }
    }
}

/// The functions of a migration policy that expressions call.
package protocol PolicyFunctions: AnyObject {
    /// Calls a function by the selector or key that an expression names, and gives the value as a column would hold it.
    func call(_ name: String, _ arguments: [FunctionValue]) throws -> DefaultValue?
}

/// Bytes in a buffer that all calls reuse.
final class ByteHolder {
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)

    deinit { buffer.deallocate() }

    /// Copies the bytes and lends the copy until the next call.
    func hold(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if bytes.count > buffer.count {
            buffer.deallocate()
            buffer = .allocate(byteCount: max(bytes.count, 2 * buffer.count), alignment: 8)
        }
        buffer.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<bytes.count])
    }

    func hold(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { hold($0) } }
}
