internal import FerryModel
internal import FerrySQLite

/// The SQL condition that a stored value is another one in a new attribute type.
///
/// A value that the new type does not take at all is not changed: preflight refuses it.
enum ChangedValue {
    private static let function = "ferry_is_changed"

    static func sql(_ value: String, in type: AttributeType) -> String {
        switch type {
        case .boolean: "\(function)(\(value), 'b')"
        case .integer16, .integer32, .integer64: "\(function)(\(value), 'i')"
        case .float: "\(function)(\(value), 'f')"
        case .double, .decimal, .date: "\(function)(\(value), 'd')"
        default: "1"
        }
    }

    static func register(on connection: Connection) throws(DatabaseError) {
        try connection.register(function, arguments: 2, deterministic: true) { arguments, result in
            let form = arguments.withBytes(1) { $0.first }
            let isChanged: Bool
            switch arguments.storageClass(0) {
            case .integer: isChanged = isRounded(arguments.integer(0), in: form)
            case .real: isChanged = isRounded(arguments.real(0), in: form)
            case .text:
                let text = arguments.withBytes(0) { String(decoding: $0, as: UTF8.self) }
                if form == UInt8(ascii: "b") {
                    return result.set(["true", "yes", "false", "no"].contains(text.lowercased()) ? 1 as Int64 : 0)
                }
                guard let number = Double(text.trimmed), number.isFinite else { return result.set(0 as Int64) }
                isChanged = isRounded(number, in: form) || Digits(text.trimmed) != Digits("\(number)")
            default: isChanged = false
            }
            result.set(isChanged ? 1 as Int64 : 0)
        }
    }

    private static func isRounded(_ integer: Int64, in form: UInt8?) -> Bool {
        switch form {
        case UInt8(ascii: "i"): false
        // Every value except zero becomes 1.
        case UInt8(ascii: "b"): integer != 0 && integer != 1
        case UInt8(ascii: "f"): Int64(exactly: Float(integer)) != integer
        default: Int64(exactly: Double(integer)) != integer
        }
    }

    private static func isRounded(_ real: Double, in form: UInt8?) -> Bool {
        switch form {
        case UInt8(ascii: "i"): real.rounded(.towardZero) != real
        case UInt8(ascii: "b"): real != 0 && real != 1
        case UInt8(ascii: "f"): Double(Float(real)) != real
        default: false
        }
    }
}

extension String {
    fileprivate var trimmed: Substring {
        var rest = drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}

/// The digits of a decimal number in a text, and where its point is.
private struct Digits: Equatable {
    private var isNegative = false
    private var digits: [UInt8] = []
    private var exponent = 0

    /// Nil for a text that is no number, or has zeros in front, which a number does not keep.
    init?(_ text: some StringProtocol) {
        var rest = Substring(text)
        if let sign = rest.first, sign == "-" || sign == "+" {
            isNegative = sign == "-"
            rest.removeFirst()
        }
        if let mark = rest.firstIndex(where: { $0 == "e" || $0 == "E" }) {
            guard let value = Int(rest[rest.index(after: mark)...]), abs(value) < 10_000 else { return nil }
            exponent = value
            rest = rest[..<mark]
        }
        let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first, parts.count <= 2, whole.utf8.count < 2 || !whole.hasPrefix("0") else {
            return nil
        }
        let fraction = parts.count == 2 ? parts[1] : ""
        digits = Array((whole + fraction).utf8)
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        exponent -= fraction.utf8.count
        while digits.last == 0x30 {
            digits.removeLast()
            exponent += 1
        }
        digits = Array(digits.drop { $0 == 0x30 })
        if digits.isEmpty { (isNegative, exponent) = (false, 0) }
    }
}
