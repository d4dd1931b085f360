/// The SQL of a partial index's predicate in Core Data's spelling.
///
/// Supports forms known from stores: comparisons of a property with a whole number, a Boolean or nil; AND; OR.
enum IndexPredicate {
    /// Returns nil for other forms, whose spelling is unknown; `column` returns the column of a property.
    static func sql(_ predicate: String, column: (String) -> String?) -> String? {
        guard let tokens = tokens(of: predicate) else { return nil }
        // Each level of parentheses recurses; real predicates have far fewer.
        guard tokens.count(where: { $0 == "(" }) <= 32 else { return nil }
        var rest = tokens[...]
        guard let sql = disjunction(&rest, column), rest.isEmpty else { return nil }
        return sql
    }

    private typealias Rest = ArraySlice<String>

    private static func disjunction(_ rest: inout Rest, _ column: (String) -> String?) -> String? {
        compound(&rest, joiners: ["OR", "||"], spelling: " OR ") { conjunction(&$0, column) }
    }

    private static func conjunction(_ rest: inout Rest, _ column: (String) -> String?) -> String? {
        compound(&rest, joiners: ["AND", "&&"], spelling: " AND ") { term(&$0, column) }
    }

    private static func compound(
        _ rest: inout Rest, joiners: Set<String>, spelling: String, part: (inout Rest) -> String?
    ) -> String? {
        guard let first = part(&rest) else { return nil }
        var parts = [first]
        while let next = rest.first, joiners.contains(next.uppercased()) {
            rest.removeFirst()
            guard let another = part(&rest) else { return nil }
            parts.append(another)
        }
        return parts.count == 1 ? first : "(\(parts.joined(separator: spelling)))"
    }

    private static func term(_ rest: inout Rest, _ column: (String) -> String?) -> String? {
        guard let first = rest.popFirst() else { return nil }
        if first == "(" {
            guard let inner = disjunction(&rest, column), rest.popFirst() == ")" else { return nil }
            return inner
        }
        guard let column = column(first), let comparison = rest.popFirst(), let literal = rest.popFirst() else {
            return nil
        }
        let operators = ["=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", ">": ">", "<=": "<=", ">=": ">="]
        guard let sign = operators[comparison] else { return nil }
        switch literal.uppercased() {
        case "NIL", "NULL", "<NULL>":
            switch sign {
            case "=": return "\(column) IS NULL"
            case "<>": return "\(column) IS NOT NULL"
            default: return nil
            }
        case "YES", "TRUE": return "\(column) \(sign) 1"
        case "NO", "FALSE": return "\(column) \(sign) 0"
        default: return Int64(literal).map { "\(column) \(sign) \($0)" }
        }
    }

    /// Returns words, numbers, signs and parentheses; nil for other characters, for example a quote.
    private static func tokens(of text: String) -> [String]? {
        var tokens: [String] = []
        var characters = Array(text.unicodeScalars)[...]
        while let next = characters.first {
            if next == " " || next == "\n" || next == "\t" {
                characters.removeFirst()
            } else if next == "(" || next == ")" {
                tokens.append(String(next))
                characters.removeFirst()
            } else if isSign(next) {
                let sign = characters.prefix(while: isSign)
                tokens.append(String(String.UnicodeScalarView(sign)))
                characters = characters.dropFirst(sign.count)
            } else {
                let word = characters.prefix(while: isWordPart)
                guard !word.isEmpty else { return nil }
                tokens.append(String(String.UnicodeScalarView(word)))
                characters = characters.dropFirst(word.count)
            }
        }
        return tokens
    }

    private static func isSign(_ scalar: Unicode.Scalar) -> Bool { "=!<>&|".unicodeScalars.contains(scalar) }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar == "." || scalar == "-"
            || (scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil))
    }
}
