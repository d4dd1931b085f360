internal import FerryModel
internal import FerrySQLite
internal import Foundation

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
                isChanged = isRounded(number, in: form) || !number.hasDigits(of: text.trimmed)
            default: isChanged = false
            }
            result.set(isChanged ? 1 as Int64 : 0)
        }
    }

    private static func isRounded(_ integer: Int64, in form: UInt8?) -> Bool {
        // No type but an integer has numbers that no double has.
        Double(exactly: integer).map { isRounded($0, in: form) } ?? (form != UInt8(ascii: "i"))
    }

    private static func isRounded(_ real: Double, in form: UInt8?) -> Bool {
        switch form {
        case UInt8(ascii: "i"): real.rounded(.towardZero) != real
        // Every value except zero becomes 1.
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

extension Double {
    /// Whether the number keeps all digits of its text; zeros in front it does not keep.
    fileprivate func hasDigits(of text: Substring) -> Bool {
        let digits = text.drop { $0 == "-" || $0 == "+" }
        let isPlain = digits.utf8.count < 2 || !digits.hasPrefix("0") || digits.hasPrefix("0.")
        // Decimal numbers have 38 digits.
        guard isPlain, digits.utf8.count <= 38, let own = Decimal(string: String(text)),
            let kept = Decimal(string: "\(self)")
        else { return false }
        return own == kept
    }
}
