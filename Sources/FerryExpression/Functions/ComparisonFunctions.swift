internal import FerryBase
internal import FerryModel

/// Comparisons that SQL's own operators would not make as Core Data does; each gives 1 or 0, never nil.
///
/// The optional third argument of the text functions carries the options' letters.
extension ScalarFunction {
    static let comparison: [ScalarFunction] = [
        ScalarFunction("ferry_equal", title: "==", arguments: 2) { arguments, result throws(FerryError) in
            result.set(isEqual(arguments[0], arguments[1]))
        },
        ordering("ferry_less", "<") { $0 < 0 },
        ordering("ferry_less_equal", "<=") { $0 <= 0 },
        textComparison("ferry_text_equal", "==", ofNils: true) { $0 == 0 },
        textComparison("ferry_text_less", "<", ofNils: false) { $0 < 0 },
        textComparison("ferry_text_less_equal", "<=", ofNils: false) { $0 <= 0 },
    ]

    private static func ordering(
        _ name: String, _ title: String, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard !arguments[0].isNull, !arguments[1].isNull else { return result.set(false) }
            result.set(holds(try order(arguments[0], arguments[1], title)))
        }
    }

    private static func textComparison(
        _ name: String, _ title: String, ofNils: Bool, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 3) { arguments, result throws(FerryError) in
            if let order = try textOrder(arguments, title) { return result.set(holds(order)) }
            result.set(ofNils && arguments[0].isNull && arguments[1].isNull)
        }
    }

    /// Negative, zero or positive; nil where one of the texts is nil.
    private static func textOrder(_ arguments: Arguments, _ title: String) throws(FerryError) -> Int? {
        let options = try TextOptions(arguments[2], title)
        guard let left = try arguments[0].text(title), let right = try arguments[1].text(title) else { return nil }
        if options == TextOptions() { return codeUnitOrder(left, right) }
        if !options.isLocalized, ASCII.holds(left), ASCII.holds(right) {
            return options.ignoresCase ? ASCII.orderIgnoringCase(left, right) : codeUnitOrder(left, right)
        }
        guard var first = try arguments[0].string(title), var second = try arguments[1].string(title) else {
            return nil
        }
        if options.isLocalized { return options.localizedOrder(first, second) }
        first = folded(first, options)
        second = folded(second, options)
        return first.withUTF8 { first in
            second.withUTF8 { codeUnitOrder(UnsafeRawBufferPointer(first), UnsafeRawBufferPointer($0)) }
        }
    }

    static func isEqual(_ left: FunctionValue, _ right: FunctionValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
            numericOrder(integer, real) == 0
        case (.text(let left), .text(let right)), (.blob(let left), .blob(let right)): left.elementsEqual(right)
        default: false
        }
    }

    /// Negative, zero or positive, for two values of which neither is null.
    static func order(
        _ left: FunctionValue, _ right: FunctionValue, _ title: String
    ) throws(FerryError) -> Int {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.real(let left), .real(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.integer(let integer), .real(let real)): return numericOrder(integer, real)
        case (.real(let real), .integer(let integer)): return -numericOrder(integer, real)
        case (.text(let left), .text(let right)): return codeUnitOrder(left, right)
        default: throw .row(title, "cannot order \(left.kind) and \(right.kind)")
        }
    }

    /// The exact order of an integer and a double, as SQLite has it: neither is rounded to the other's type.
    private static func numericOrder(_ integer: Int64, _ real: Double) -> Int {
        if real >= 9_223_372_036_854_775_808 { return -1 }
        if real < -9_223_372_036_854_775_808 { return 1 }
        let whole = Int64(real)
        if integer != whole { return integer < whole ? -1 : 1 }
        let rest = real - Double(whole)
        return rest > 0 ? -1 : rest < 0 ? 1 : 0
    }
}
