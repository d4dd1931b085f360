internal import FerryBase

/// One token of the language, and where it begins.
struct Token {
    enum Kind: Equatable {
        /// A word, or a function's selector such as `modulus:by:`.
        case word(String)
        /// `$name`.
        case variable(String)
        /// `#name`: a key that is a reserved word.
        case key(String)
        /// `@name`, after a dot.
        case collectionOperator(String)
        case integer(UInt64)
        case double(Double)
        case string(String)
        case symbol(String)
        case end
    }

    var kind: Kind
    /// In Unicode scalars from the text's start.
    var position: Int
}

struct Lexer {
    /// The limit of an expression's length: far more than people write.
    static let lengthLimit = 65_536

    let text: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) throws(FerryError) {
        self.text = Array(text.unicodeScalars.prefix(Self.lengthLimit + 1))
        if self.text.count > Self.lengthLimit {
            throw FerryError(
                .badExpression, "An expression is longer than \(Self.lengthLimit) characters.",
                remedy: "Split it, or compute the value in a migration policy.")
        }
    }

    func error(_ problem: String, at position: Int, remedy: String = "") -> FerryError {
        let (line, column) = place(of: position)
        let shown = String(String.UnicodeScalarView(text.prefix(200))) + (text.count > 200 ? "…" : "")
        return FerryError(
            .badExpression, "`\(shown)` cannot be read: \(problem) (line \(line), column \(column)).", remedy: remedy)
    }

    /// Returns line and column, from 1.
    func place(of position: Int) -> (line: Int, column: Int) {
        let before = text.prefix(position)
        return (
            before.count { $0 == "\n" } + 1, position - (before.lastIndex(of: "\n").map { $0 + 1 } ?? 0) + 1
        )
    }

    mutating func next() throws(FerryError) -> Token {
        while let scalar = peek(), scalar.properties.isWhitespace { position += 1 }
        let start = position
        guard let scalar = peek() else { return Token(kind: .end, position: start) }
        switch scalar {
        case "0"..."9": return Token(kind: try number(), position: start)
        case "\"", "'": return Token(kind: .string(try string(scalar)), position: start)
        case "$": return Token(kind: .variable(try name(after: "$")), position: start)
        case "#": return Token(kind: .key(try name(after: "#")), position: start)
        case "@": return Token(kind: .collectionOperator(try name(after: "@")), position: start)
        default: break
        }
        if Self.begins(scalar) { return Token(kind: .word(word()), position: start) }
        for symbol in Self.symbols where symbol.count > 1 && text[position...].starts(with: symbol.unicodeScalars) {
            position += symbol.unicodeScalars.count
            return Token(kind: .symbol(symbol), position: start)
        }
        let symbol = String(scalar)
        guard Self.symbols.contains(symbol) else { throw error("`\(symbol)` has no meaning here", at: start) }
        position += 1
        return Token(kind: .symbol(symbol), position: start)
    }

    // MARK: Words

    private static let symbols = [
        "**", "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", ":=",
        "(", ")", "[", "]", "{", "}", ",", ".", "+", "-", "*", "/", "=", "<", ">", "!", "%",
    ]

    private static func begins(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isAlphabetic }

    private static func continues(_ scalar: Unicode.Scalar) -> Bool {
        begins(scalar) || scalar.properties.numericType != nil || scalar.properties.generalCategory == .nonspacingMark
    }

    private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
        position + offset < text.count ? text[position + offset] : nil
    }

    private mutating func identifier() -> String {
        var name = String.UnicodeScalarView()
        while let scalar = peek(), Self.continues(scalar) {
            name.append(scalar)
            position += 1
        }
        return String(name)
    }

    private mutating func word() -> String {
        var word = identifier()
        while peek() == ":", peek(1) != "=" {
            position += 1
            word += ":" + identifier()
        }
        return word
    }

    private mutating func name(after sign: String) throws(FerryError) -> String {
        let start = position
        position += 1
        guard let scalar = peek(), Self.begins(scalar) else { throw error("a name must follow `\(sign)`", at: start) }
        return identifier()
    }

    // MARK: Literals

    private mutating func number() throws(FerryError) -> Token.Kind {
        let start = position
        if peek() == "0", let mark = peek(1), let radix = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2][mark] {
            position += 2
            let digits = identifier()
            guard let value = UInt64(digits, radix: radix) else {
                throw error("`0\(mark)\(digits)` does not fit in 64 bits", at: start)
            }
            return .integer(value)
        }
        var digits = takeDigits()
        var isWhole = true
        if peek() == ".", let digit = peek(1), ("0"..."9").contains(digit) {
            isWhole = false
            position += 1
            digits += "." + takeDigits()
        }
        if let mark = peek(), mark == "e" || mark == "E" {
            let sign = peek(1).flatMap { "+-".unicodeScalars.contains($0) ? String($0) : nil }
            if let digit = peek(sign == nil ? 1 : 2), ("0"..."9").contains(digit) {
                isWhole = false
                position += sign == nil ? 1 : 2
                digits += "e" + (sign ?? "") + takeDigits()
            }
        }
        if let scalar = peek(), Self.begins(scalar) { throw error("`\(digits)\(scalar)…` is not a number", at: start) }
        if isWhole {
            guard let value = UInt64(digits) else { throw error("`\(digits)` does not fit in 64 bits", at: start) }
            return .integer(value)
        }
        guard let value = Double(digits), value.isFinite else {
            throw error("`\(digits)` is out of range", at: start)
        }
        return .double(value)
    }

    private mutating func takeDigits() -> String {
        var digits = ""
        while let scalar = peek(), ("0"..."9").contains(scalar) {
            digits.unicodeScalars.append(scalar)
            position += 1
        }
        return digits
    }

    private mutating func string(_ quote: Unicode.Scalar) throws(FerryError) -> String {
        let start = position
        position += 1
        var content = String.UnicodeScalarView()
        while let scalar = peek() {
            if scalar == quote {
                position += 1
                return String(content)
            }
            if scalar == "\\" {
                content.append(try escape())
            } else {
                content.append(scalar)
                position += 1
            }
        }
        throw error("a string is not closed", at: start)
    }

    private mutating func escape() throws(FerryError) -> Unicode.Scalar {
        let start = position
        guard let letter = peek(1) else { throw error("a string is not closed", at: start) }
        position += 2
        switch letter {
        case "\\", "\"", "'", "`", "?", "/": return letter
        case "a": return "\u{07}"
        case "b": return "\u{08}"
        case "f": return "\u{0C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "v": return "\u{0B}"
        case "x", "X": return try scalar(try hexadecimal(2, start), start)
        case "u":
            let unit = try hexadecimal(4, start)
            guard (0xD800..<0xDC00).contains(unit) else { return try scalar(unit, start) }
            guard peek() == "\\", peek(1) == "u" else { throw error("half of a surrogate pair", at: start) }
            position += 2
            let trail = try hexadecimal(4, start)
            guard (0xDC00..<0xE000).contains(trail) else { throw error("half of a surrogate pair", at: start) }
            return try scalar(0x10000 + (unit & 0x3FF) << 10 + trail & 0x3FF, start)
        default:
            throw error(
                "`\\\(letter)` is not a valid escape", at: start,
                remedy: "Write a backslash twice: `\\\\\(letter)`.")
        }
    }

    private mutating func hexadecimal(_ count: Int, _ start: Int) throws(FerryError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let digit = peek(), digit.isASCII, let number = hexadecimalValue(UInt8(digit.value)) else {
                throw error("an escape needs \(count) hexadecimal digits", at: start)
            }
            value = value << 4 | UInt32(number)
            position += 1
        }
        return value
    }

    private func scalar(_ value: UInt32, _ start: Int) throws(FerryError) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else { throw error("half of a surrogate pair", at: start) }
        return scalar
    }
}

/// The language's reserved words, in upper case.
enum Keyword {
    static let operators: Set<String> = [
        "AND", "OR", "NOT", "MATCHES", "LIKE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH",
    ]
    static let values: Set<String> = [
        "TRUE", "YES", "FALSE", "NO", "NULL", "NIL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE",
    ]
    static let quantifiers: Set<String> = ["ANY", "SOME", "ALL", "NONE"]
    /// Words with a meaning only before a parenthesis.
    static let calls: Set<String> = [
        "FUNCTION", "JSON", "CAST", "TERNARY", "SUBQUERY", "FETCH", "UNION", "INTERSECT", "MINUS",
    ]
    /// Words of the language that Ferry cannot evaluate, with the reason.
    static let refused: [String: String] = [
        "ANYKEY": "ANYKEY stands for any key of an object, for which a model has no values",
        "UTI": "UTI-CONFORMS-TO and UTI-EQUALS need the system's type table, which a store does not have",
    ]
    /// Whether a key needs a number sign.
    static func isReserved(_ word: String) -> Bool {
        let word = word.uppercased()
        return operators.contains(word) || values.contains(word) || quantifiers.contains(word)
    }
}
