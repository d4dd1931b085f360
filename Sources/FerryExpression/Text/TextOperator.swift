/// An operator on text that is a regular expression in other words.
enum TextOperator: String {
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"

    /// The comparison where the text is known only row by row.
    var comparator: Predicate.Comparison.Operator {
        switch self {
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .contains: .contains
        case .like: .like
        }
    }

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
    ///
    /// What stands between two `*` may be taken where it first occurs: if the rest fits after any later place, it fits
    /// after that one. So nothing is tried twice, and the time is at most the text's length times the pattern's.
    private static func wildcards(_ text: String) -> String {
        var pieces = [""]
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "*": pieces.append("")
            case "?": pieces[pieces.count - 1] += "."
            case "\\": pieces[pieces.count - 1] += literal(String(scalars.next() ?? scalar))
            default: pieces[pieces.count - 1] += literal(String(scalar))
            }
        }
        guard pieces.count > 1 else { return pieces[0] }
        let between = pieces[1..<pieces.count - 1].filter { !$0.isEmpty }.map { "(?>.*?\($0))" }
        return pieces[0] + between.joined() + ".*" + pieces[pieces.count - 1]
    }
}
