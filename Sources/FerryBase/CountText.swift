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

    /// The number with what it counts, as in `1 row` and `1,234 rows`: the word for several is that for one with an `s`.
    package func counting(_ one: String) -> String { "\(grouped) \(one)\(self == 1 ? "" : "s")" }
}
