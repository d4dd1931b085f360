internal import FerryBase

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
        ScalarFunction("ferry_text_equal", title: "==", arguments: 3) { arguments, result throws(FerryError) in
            let options = try TextOptions(arguments[2], "==")
            if options.isLocalized, let left = try arguments[0].string("=="), let right = try arguments[1].string("==")
            {
                return result.set(LocalizedOrder.order(left, right, options) == 0)
            }
            if case .text(let left) = arguments[0], case .text(let right) = arguments[1], ASCII.holds(left),
                ASCII.holds(right)
            {
                let isEqual =
                    left.count == right.count
                    && (options.ignoresCase ? ASCII.orderIgnoringCase(left, right) == 0 : left.elementsEqual(right))
                return result.set(isEqual)
            }
            switch (try arguments[0].string("=="), try arguments[1].string("==")) {
            case (nil, nil): result.set(true)
            case (let left?, let right?):
                result.set(folded(left, options).utf8.elementsEqual(folded(right, options).utf8))
            default: result.set(false)
            }
        },
        textOrdering("ferry_text_less", "<") { $0 < 0 },
        textOrdering("ferry_text_less_equal", "<=") { $0 <= 0 },
    ]

    private static func ordering(
        _ name: String, _ title: String, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 2) { arguments, result throws(FerryError) in
            guard !arguments[0].isNull, !arguments[1].isNull else { return result.set(false) }
            result.set(holds(try order(arguments[0], arguments[1], title)))
        }
    }

    private static func textOrdering(
        _ name: String, _ title: String, _ holds: @escaping @Sendable (Int) -> Bool
    ) -> ScalarFunction {
        ScalarFunction(name, title: title, arguments: 3) { arguments, result throws(FerryError) in
            let options = try TextOptions(arguments[2], title)
            guard let left = try arguments[0].text(title), let right = try arguments[1].text(title) else {
                return result.set(false)
            }
            if options.isLocalized {
                let (first, second) = (try arguments[0].string(title) ?? "", try arguments[1].string(title) ?? "")
                return result.set(holds(LocalizedOrder.order(first, second, options)))
            }
            guard options != TextOptions(ignoresCase: false, ignoresDiacritics: false) else {
                return result.set(holds(codeUnitOrder(left, right)))
            }
            if ASCII.holds(left), ASCII.holds(right) {
                return result.set(
                    holds(options.ignoresCase ? ASCII.orderIgnoringCase(left, right) : codeUnitOrder(left, right)))
            }
            let first = Array(folded(try arguments[0].string(title) ?? "", options).utf8)
            let second = Array(folded(try arguments[1].string(title) ?? "", options).utf8)
            result.set(
                holds(
                    first.withUnsafeBytes { first in
                        second.withUnsafeBytes { second in codeUnitOrder(first, second) }
                    }))
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

    /// The order of two UTF-8 texts by their UTF-16 code units.
    ///
    /// UTF-8 sorts by code point; the two differ only where a character outside the BMP (first byte F0 and up, in
    /// UTF-16 a surrogate) meets one of U+E000 to U+FFFF (first byte EE or EF).
    static func codeUnitOrder(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            let (first, second) = (left[index], right[index])
            if first >= 0xEE, second >= 0xEE, (first >= 0xF0) != (second >= 0xF0) { return first >= 0xF0 ? -1 : 1 }
            return first < second ? -1 : 1
        }
        return left.count < right.count ? -1 : left.count > right.count ? 1 : 0
    }
}
