/// An operator on text that is a regular expression in other words.
enum TextOperator: String {
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"

    /// The regular expression that fits the same whole texts.
    func pattern(for text: String) -> String {
        switch self {
        case .beginsWith: "(?s)\(Self.literal(text)).*"
        case .endsWith: "(?s).*\(Self.literal(text))"
        case .contains: "(?s).*\(Self.literal(text)).*"
        case .like: "(?s)\(Self.wildcards(text))"
        }
    }

    private static func literal(_ text: some StringProtocol) -> String {
        var pattern = ""
        for scalar in text.unicodeScalars {
            if scalar.isASCII, scalar.value > 0x20, !scalar.properties.isAlphabetic, !("0"..."9").contains(scalar) {
                pattern += "\\"
            }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern
    }

    /// `*` stands for any text and `?` for one character; after a backslash each stands for itself.
    private static func wildcards(_ text: String) -> String {
        var pattern = ""
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "*": pattern += ".*"
            case "?": pattern += "."
            case "\\": pattern += literal(String(scalars.next() ?? scalar))
            default: pattern += literal(String(scalar))
            }
        }
        return pattern
    }
}
