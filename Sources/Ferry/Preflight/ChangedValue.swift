internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// The SQL condition that a value is another one in a new attribute type.
enum ChangedValue {
    private static let function = "ferry_is_changed"

    static func sql(_ value: String, from old: AttributeType, to new: AttributeType) -> String {
        switch new {
        // Every value except zero becomes 1.
        case .boolean: "\(value) NOT IN (0, 1)"
        default: old.conversion(to: new).map { "\(function)(\(value), \($0)(\(value)))" } ?? "1"
        }
    }

    /// Registers the comparison: the conversion itself is the one that the rows will have.
    static func register(on connection: Connection) throws(DatabaseError) {
        try connection.register(function, arguments: 2, deterministic: true) { arguments, result in
            let isEqual =
                switch (arguments.storageClass(0), arguments.storageClass(1)) {
                case (.null, _): true
                case (.integer, .integer): arguments.integer(0) == arguments.integer(1)
                case (.integer, .real): Int64(exactly: arguments.real(1)) == arguments.integer(0)
                case (.real, .integer): Int64(exactly: arguments.real(0)) == arguments.integer(1)
                case (.real, .real): arguments.real(0) == arguments.real(1)
                case (.text, .integer): arguments.digits(0) == Digits(String(arguments.integer(1)))
                case (.text, .real): arguments.digits(0) == Digits("\(arguments.real(1))")
                default: false
                }
            result.set(isEqual ? 0 as Int64 : 1)
        }
    }
}

extension FunctionArguments {
    fileprivate func digits(_ index: Int) -> Digits? {
        withBytes(index) { Digits(String(decoding: $0, as: UTF8.self)) }
    }
}

/// The digits of a decimal number in a text, and where its point is.
private struct Digits: Equatable {
    private var isNegative = false
    private var digits: [UInt8] = []
    private var exponent = 0

    /// Nil for a text that is no number, or has zeros in front, which a number does not keep.
    init?(_ text: String) {
        var rest = Substring(text.trimmingPrefix { $0.isWhitespace })
        while rest.last?.isWhitespace == true { rest.removeLast() }
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
