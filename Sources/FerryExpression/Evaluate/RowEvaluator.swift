package import FerryBase
package import FerryModel

/// Evaluates a computation for one row after another, with the functions that SQL calls.
///
/// Evaluating allocates no memory per row: each call keeps its buffers. An evaluator belongs to one thread.
package final class RowEvaluator {
    private let root: Node

    fileprivate indirect enum Node {
        case place(Int)
        case constant(FunctionValue, ByteHolder?)
        case call(Call)
        case real(Computation.Operator, Node, Node)
        case ifNull(Node, Node)
        case same(Node, Node)
        case isNull(Node, negated: Bool)
        case precedes(Node, Node, orEqual: Bool)
        case all([Node])
        case any([Node])
        case not(Node)
        case choose(Node, Node, Node)
        case orNil(Node)
        case fails(Node)
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

    /// Resolves each column of the computation once; `now` is the time of the run.
    ///
    /// - Throws: Errors of `places`; ``FerryError`` `.internalError` for an unknown function.
    package init(_ computation: Computation, now: Double, places: inout some PlaceResolver) throws(FerryError) {
        root = try Self.node(computation, now, &places)
        callsPolicy = computation.callsPolicy
    }

    /// The value's place if the computation is a single column; the caller need not decode the value then.
    package var place: Int? { if case .place(let place) = root { place } else { nil } }

    /// Whether the computation is a single call of the policy, whose value the caller converts.
    package var isPolicyCall: Bool { if case .policy = root { true } else { false } }

    package let callsPolicy: Bool

    /// Returns the value for one row; text and BLOBs are borrowed until the next call or the next row.
    package func value(in row: any RowValues, policy: (any PolicyFunctions)? = nil) throws -> FunctionValue {
        try evaluate(root, row, policy)
    }

    // MARK: Building

    private static func node(
        _ computation: Computation, _ now: Double, _ places: inout some PlaceResolver
    ) throws(FerryError) -> Node {
        switch computation {
        case .column(let path):
            if case .json = path.end {
                return .call(Call(try function("ferry_json_get"), [.place(try places.elementTextPlace())]))
            }
            return .place(try places.place(of: path))
        case .elementText: return .place(try places.elementTextPlace())
        case .elementPosition: return .place(try places.elementPositionPlace())
        case .parameter(let value): return constant(value, now)
        case .argument(let index): return .place(index)
        case .call(let name, let arguments): return .call(Call(try function(name), try nodes(arguments, now, &places)))
        case .operation(let symbol, let operands):
            let operands = try nodes(operands, now, &places)
            return switch symbol {
            case .plus, .minus, .times: .real(symbol, operands[0], operands[1])
            case .ifNull: .ifNull(operands[0], operands[1])
            case .same: .same(operands[0], operands[1])
            case .isNull: .isNull(operands[0], negated: false)
            case .isNotNull: .isNull(operands[0], negated: true)
            case .less: .precedes(operands[0], operands[1], orEqual: false)
            case .lessOrEqual: .precedes(operands[0], operands[1], orEqual: true)
            case .all: .all(operands)
            case .any: .any(operands)
            case .not: .not(operands[0])
            case .choose: .choose(operands[0], operands[1], operands[2])
            case .orNil: .orNil(operands[0])
            case .fails: .fails(operands[0])
            }
        case .collection(let collection): return .place(try places.place(of: collection))
        case .policy(let name, let arguments): return .policy(name, try nodes(arguments, now, &places), ByteHolder())
        }
    }

    private static func nodes(
        _ computations: [Computation], _ now: Double, _ places: inout some PlaceResolver
    ) throws(FerryError) -> [Node] {
        try computations.map { computation throws(FerryError) in try node(computation, now, &places) }
    }

    private static func function(_ name: String) throws(FerryError) -> ScalarFunction {
        guard let function = ScalarFunction.named(name) else {
            throw FerryError(.internalError, "The row executor has no function \(name).")
        }
        return function
    }

    private static func constant(_ value: SQLParameter, _ now: Double) -> Node {
        switch value {
        case .now: return .constant(.real(now), nil)
        case .constant(let constant):
            let holder = ByteHolder()
            return .constant(held(constant.stored, by: holder), holder)
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
        _ node: Node, _ row: any RowValues, _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue {
        switch node {
        case .place(let place): return row.value(at: place)
        case .constant(let value, _): return value
        case .call(let call): return try evaluate(call, row, policy)
        case .real(let symbol, let left, let right):
            return try Self.compute(symbol, evaluate(left, row, policy), evaluate(right, row, policy))
        case .ifNull(let value, let substitute):
            let value = try evaluate(value, row, policy)
            return value.isNull ? try evaluate(substitute, row, policy) : value
        case .same(let left, let right):
            return Self.flag(
                ScalarFunction.isEqual(try evaluate(left, row, policy), try evaluate(right, row, policy)))
        case .isNull(let value, let negated): return Self.flag(try evaluate(value, row, policy).isNull != negated)
        case .precedes(let left, let right, let orEqual):
            let (left, right) = (try evaluate(left, row, policy), try evaluate(right, row, policy))
            guard !left.isNull, !right.isNull else { return Self.flag(false) }
            let order = try ScalarFunction.order(left, right, orEqual ? "<=" : "<")
            return Self.flag(orEqual ? order <= 0 : order < 0)
        case .all(let conditions):
            for condition in conditions where !Self.isTrue(try evaluate(condition, row, policy)) {
                return Self.flag(false)
            }
            return Self.flag(true)
        case .any(let conditions):
            for condition in conditions where Self.isTrue(try evaluate(condition, row, policy)) {
                return Self.flag(true)
            }
            return Self.flag(false)
        case .not(let condition): return Self.flag(!Self.isTrue(try evaluate(condition, row, policy)))
        case .choose(let condition, let value, let other):
            return try evaluate(Self.isTrue(try evaluate(condition, row, policy)) ? value : other, row, policy)
        case .orNil(let value): return try attempt(value, row, policy) ?? .null
        case .fails(let value): return Self.flag(try attempt(value, row, policy) == nil)
        case .policy(let name, let arguments, let holder):
            guard let policy else {
                throw FerryError(.internalError, "An expression calls \(name) where there is no migration policy.")
            }
            let values = try arguments.map { try evaluate($0, row, policy) }
            return Self.held(try policy.call(name, values), by: holder)
        }
    }

    /// The value; nil if a function does not take it.
    private func attempt(
        _ node: Node, _ row: any RowValues, _ policy: (any PolicyFunctions)?
    ) throws -> FunctionValue? {
        do {
            return try evaluate(node, row, policy)
        } catch let error as FerryError where error.code == .rowFailed {
            return nil
        }
    }

    private func evaluate(
        _ call: Call, _ row: any RowValues, _ policy: (any PolicyFunctions)?
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

/// Resolves the columns of a computation to places in a row, before the first row.
package protocol PlaceResolver {
    mutating func place(of path: ResolvedPath) throws(FerryError) -> Int

    /// Returns the place of the JSON text of the iteration's element.
    mutating func elementTextPlace() throws(FerryError) -> Int

    /// Returns the place of the index of the iteration's element.
    mutating func elementPositionPlace() throws(FerryError) -> Int

    mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int
}

extension PlaceResolver {
    package mutating func elementPositionPlace() throws(FerryError) -> Int {
        throw FerryError(.unsupported, "An expression reads the position of an element where there is only one row.")
    }

    package mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int {
        throw FerryError(.unsupported, "An expression reads a collection where there is only one row.")
    }
}

/// The values of one row, by the places of the ``PlaceResolver``; borrowed until the next row.
package protocol RowValues: AnyObject {
    func value(at place: Int) -> FunctionValue
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
