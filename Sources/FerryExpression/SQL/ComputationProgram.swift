internal import FerryBase

/// A computation as bytes, so that a statement can be given it as a value: one too deep for SQLite's parser is run by
/// one function of ours, `ferry_evaluate`, which is given the bytes and whatever only the statement has.
///
/// Parts are written in prefix order. What only the statement has (columns, the element's text, `now()`) is an argument.
package struct ComputationProgram {
    /// The most arguments of a function are 127, of which the program is one.
    package static let argumentLimit = 126

    package private(set) var bytes: [UInt8] = []
    /// The parts that the statement has to compute, in the order of the function's arguments after the program.
    package private(set) var arguments: [Computation] = []

    private enum Code: UInt8 {
        case argument, null, boolean, integer, double, string, call, plus, minus, times, ifNull, same, isNull, isNotNull
        case less, lessOrEqual, all, any, not, choose
    }

    /// - Returns: Nil where the computation calls the migration policy, which has no bytes, or reads more columns than a
    ///   function has arguments.
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
            write(Array(name.utf8))
            write(parts)
        case .real(let symbol, let left, let right):
            write(symbol == .plus ? .plus : symbol == .minus ? .minus : .times, left, right)
        case .ifNull(let value, let substitute): write(.ifNull, value, substitute)
        case .same(let left, let right): write(.same, left, right)
        case .isNull(let part, let negated): write(negated ? .isNotNull : .isNull, part)
        case .precedes(let left, let right, let orEqual): write(orEqual ? .lessOrEqual : .less, left, right)
        case .all(let parts):
            write(.all)
            write(parts)
        case .any(let parts):
            write(.any)
            write(parts)
        case .not(let part): write(.not, part)
        case .choose(let condition, let value, let other): write(.choose, condition, value, other)
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
        // Without its type this would be the constant again, and without end.
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
            write(Array(string.utf8))
        }
    }

    private mutating func write(_ code: Code, _ parts: Computation...) {
        bytes.append(code.rawValue)
        for part in parts { write(part) }
    }

    private mutating func write(_ parts: [Computation]) {
        write(UInt64(parts.count))
        for part in parts { write(part) }
    }

    private mutating func write(_ text: [UInt8]) {
        write(UInt64(text.count))
        bytes += text
    }

    private mutating func write(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }

    // MARK: Reading

    /// The computation that the bytes stand for, with ``Computation/argument(_:)`` where the statement's values go.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` for bytes that no computation was written to.
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

        /// Far more than any expression has: so deep a tree would cost more stack than there is.
        static let depthLimit = 2_000

        var damaged: FerryError { .row("ferry_evaluate", "was given no program") }

        mutating func computation(depth: Int) throws(FerryError) -> Computation {
            guard place < bytes.count, depth < Self.depthLimit, let code = Code(rawValue: bytes[place]) else {
                throw damaged
            }
            place += 1
            switch code {
            case .argument:
                let index = try number()
                guard index < UInt64(argumentCount) else { throw damaged }
                return .argument(Int(index))
            case .null: return .parameter(.constant(.null))
            case .boolean: return .parameter(.constant(.boolean(try byte() != 0)))
            case .integer: return .parameter(.constant(.integer(Int64(bitPattern: try number()))))
            case .double: return .parameter(.constant(.double(Double(bitPattern: try number()))))
            case .string: return .parameter(.constant(.string(try text())))
            case .call:
                let name = try text()
                let parts = try computations(depth)
                guard let function = ScalarFunction.named(name), function.takes(parts.count) else { throw damaged }
                return .call(name, parts)
            case .plus: return .real(.plus, try computation(depth: depth + 1), try computation(depth: depth + 1))
            case .minus: return .real(.minus, try computation(depth: depth + 1), try computation(depth: depth + 1))
            case .times: return .real(.times, try computation(depth: depth + 1), try computation(depth: depth + 1))
            case .ifNull: return .ifNull(try computation(depth: depth + 1), try computation(depth: depth + 1))
            case .same: return .same(try computation(depth: depth + 1), try computation(depth: depth + 1))
            case .isNull: return .isNull(try computation(depth: depth + 1), negated: false)
            case .isNotNull: return .isNull(try computation(depth: depth + 1), negated: true)
            case .less:
                return .precedes(
                    try computation(depth: depth + 1), try computation(depth: depth + 1), orEqual: false)
            case .lessOrEqual:
                return .precedes(try computation(depth: depth + 1), try computation(depth: depth + 1), orEqual: true)
            case .all: return .all(try computations(depth))
            case .any: return .any(try computations(depth))
            case .not: return .not(try computation(depth: depth + 1))
            case .choose:
                return .choose(
                    try computation(depth: depth + 1), try computation(depth: depth + 1),
                    try computation(depth: depth + 1))
            }
        }

        private mutating func computations(_ depth: Int) throws(FerryError) -> [Computation] {
            let count = try number()
            // Each takes a byte at least.
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
