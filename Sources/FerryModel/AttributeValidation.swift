/// What values an attribute may have, as far as a model's editor offers rules for them; no store shows it.
package struct AttributeValidation: Sendable, Hashable {
    /// The least number, length of a text, or date in seconds since 2001.
    package var minimum: Double?
    package var maximum: Double?
    /// A regular expression that a text matches as a whole.
    package var pattern: String?

    package init(minimum: Double? = nil, maximum: Double? = nil, pattern: String? = nil) {
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
    }

    /// Adds what the text of a predicate of a compiled model says: `SELF >= 3`, `length <= 5`, `SELF MATCHES "…"`.
    ///
    /// Other predicates say nothing that this holds.
    mutating func add(predicate: String) {
        let words = predicate.split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count == 3, words[0] == "SELF" || words[0] == "length" else { return }
        switch words[1] {
        case ">=": minimum = Double(words[2]) ?? minimum
        case "<=": maximum = Double(words[2]) ?? maximum
        case "MATCHES" where words[2].count >= 2 && words[2].hasPrefix("\"") && words[2].hasSuffix("\""):
            var text = ""
            var isEscaped = false
            for character in words[2].dropFirst().dropLast() {
                if character == "\\", !isEscaped {
                    isEscaped = true
                } else {
                    text.append(character)
                    isEscaped = false
                }
            }
            pattern = text
        default: break
        }
    }
}
