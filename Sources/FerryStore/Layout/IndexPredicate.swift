/// The SQL of a partial index's predicate in Core Data's spelling.
///
/// Supports forms known from stores: comparisons of a property with a whole number, a Boolean or nil; AND; OR.
enum IndexPredicate {
    /// Returns nil for other forms, whose spelling is unknown; `column` returns the column of a property.
    static func sql(_ predicate: String, column: (String) -> String?) -> String? {
        // Parentheses, signs, words and numbers; any other character fits nowhere.
        let tokens = predicate.matches(of: #/[()]|[=!<>&|]+|[A-Za-z0-9_.\-]+|\S/#).map { String($0.output) }
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
}
