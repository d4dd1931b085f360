extension Sequence where Element: FixedWidthInteger {
    /// The sum of numbers from a file, clamped to the range of the type; only a damaged file's numbers overflow.
    package var clampedSum: Element {
        var sum: Element = 0
        for number in self {
            let (next, overflow) = sum.addingReportingOverflow(number)
            if overflow { return number < 0 ? .min : .max }
            sum = next
        }
        return sum
    }
}

extension Int64 {
    /// The number in groups of three digits, as in `1,234,567`.
    package var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return self < 0 ? "-" + text : text
    }

    /// The number with its noun, as in `1 row` and `1,234 rows`: the plural is the noun with an `s`.
    package func counting(_ one: String) -> String { "\(grouped) \(one)\(self == 1 ? "" : "s")" }
}

extension Int64 {
    /// A number of bytes in words, with one decimal place: `512 B`, `1.3 GiB`; 1,000 of a unit are one of the next.
    package var bytesInUnits: String {
        for (shift, name) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] where self >= 1_000 << Int64(shift - 10) {
            let tenths = (Double(self) / Double(1 << shift) * 10).rounded()
            return "\(Int64(tenths) / 10).\(Int64(tenths) % 10) \(name)"
        }
        return "\(self) B"
    }
}

extension Duration {
    /// The longest duration from a text or a file, in effect unlimited.
    private static let longestSeconds = 1e15

    /// A computed duration, clamped to the valid range; NaN gives zero.
    package static func clamped(seconds: Double) -> Duration {
        guard !seconds.isNaN else { return .zero }
        return .seconds(min(max(seconds, -longestSeconds), longestSeconds))
    }

    /// A limit that a person has given, in words: `300 ms`, `2.5 s`, `5 min`, `1 min 30 s`, `2 h`.
    package var inUnits: String {
        let milliseconds = Int64(min(max(0, inSeconds * 1_000), 1e15).rounded())
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        if seconds < 60 { return rest < 50 ? "\(seconds) s" : "\(seconds).\(rest / 100) s" }
        let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
        return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }

    package static func clamped(nanoseconds: UInt64) -> Duration { .nanoseconds(Int64(clamping: nanoseconds)) }

    /// In whole nanoseconds, clamped: not below 0, and at most 292 years.
    package var clampedNanoseconds: UInt64 { UInt64(min(max(0, (self / .nanoseconds(1)).rounded()), 0x1p63)) }

    /// The `Double` nearest to the whole nanoseconds in seconds: a sum of seconds and fraction would round twice.
    package var inSeconds: Double { (self / .nanoseconds(1)).rounded() / 1e9 }
}
