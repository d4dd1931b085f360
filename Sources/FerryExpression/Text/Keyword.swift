/// The language's reserved words, in upper case.
enum Keyword {
    static let operators: Set<String> = [
        "AND", "OR", "NOT", "MATCHES", "LIKE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH",
    ]
    static let values: Set<String> = [
        "TRUE", "YES", "FALSE", "NO", "NULL", "NIL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE",
    ]
    static let quantifiers: Set<String> = ["ANY", "SOME", "ALL", "NONE"]
    /// Words that mean something only before a parenthesis.
    static let calls: Set<String> = [
        "FUNCTION", "JSON", "CAST", "TERNARY", "SUBQUERY", "FETCH", "UNION", "INTERSECT", "MINUS",
    ]
    /// What the language has and a mapping model cannot be asked for, with the reason.
    static let refused: [String: String] = [
        "ANYKEY": "ANYKEY stands for any key of an object, which a model has no values for",
        "UTI": "UTI-CONFORMS-TO and UTI-EQUALS ask the system's table of types, which no store has",
    ]
    /// Whether a key must be written with a number sign to be a key.
    static func isReserved(_ word: String) -> Bool {
        let word = word.uppercased()
        return operators.contains(word) || values.contains(word) || quantifiers.contains(word)
    }
}
