import FerryBase
import FerryExpression

/// A value that owns its bytes, for tables of calls.
enum Cell: Equatable, CustomStringConvertible {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])

    var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value) (real)"
        case .text(let value): "'\(value)'"
        case .bytes(let value): "x\(value)"
        }
    }
}

extension Cell: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByNilLiteral
{
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .real(value) }
    init(stringLiteral value: String) { self = .text(value) }
    init(nilLiteral: ()) { self = .null }
}

/// Calls a scalar function as a connection does.
func call(_ name: String, _ cells: [Cell], _ result: inout FunctionResult) throws -> Cell {
    guard let function = ScalarFunction.named(name) else { preconditionFailure("no function \(name)") }
    var buffers: [UnsafeMutableRawBufferPointer] = []
    defer { buffers.forEach { $0.deallocate() } }
    func copy(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
        buffers.append(buffer)
        return UnsafeRawBufferPointer(buffer)
    }
    let arguments: [FunctionValue] = cells.map {
        switch $0 {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let value): .text(copy(Array(value.utf8)))
        case .bytes(let value): .blob(copy(value))
        }
    }
    let outcome: Result<Cell, any Error> = arguments.withUnsafeBufferPointer { arguments in
        Result {
            try function.call(arguments, result: &result)
            return switch result.value {
            case .null: .null
            case .integer(let value): .integer(value)
            case .real(let value): .real(value)
            case .text: .text(String(decoding: result.bytes, as: UTF8.self))
            case .blob: .bytes(result.bytes)
            case .borrowedText(let bytes): .text(String(decoding: bytes, as: UTF8.self))
            case .argument(let index): cells[index]
            }
        }
    }
    return try outcome.get()
}

func call(_ name: String, _ cells: Cell...) throws -> Cell {
    var result = FunctionResult()
    return try call(name, cells, &result)
}
