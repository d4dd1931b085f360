internal import FerrySQLite

package enum SQLNames {
    enum Token {
        /// In upper case, as the quoted names.
        case word(String), quoted(String)
        case sign(Unicode.Scalar)

        var name: String? {
            switch self {
            case .word(let name), .quoted(let name): name
            case .sign: nil
            }
        }

        var word: String? { if case .word(let word) = self { word } else { nil } }
    }

    /// Returns words and quoted names in upper case, in order, without comments.
    static func names(in sql: String) -> [String] { tokens(of: sql).compactMap(\.name) }

    /// Returns words and quoted names in upper case, and signs, in order, without comments.
    package static func parts(of sql: String) -> [String] {
        tokens(of: sql).map { token in
            if case .sign(let sign) = token { String(sign) } else { token.name ?? "" }
        }
    }

    /// Returns words, quoted names and signs, in order, without comments.
    static func tokens(of sql: String) -> [Token] {
        var tokens: [Token] = []
        var rest = Array(sql.unicodeScalars)[...]
        while let next = rest.first {
            switch next {
            case "\"", "`": tokens.append(.quoted(quoted(&rest, end: next)))
            case "[": tokens.append(.quoted(quoted(&rest, end: "]")))
            // SQLite accepts a name in single quotes where it expects no value.
            case "'": tokens.append(.quoted(quoted(&rest, end: next)))
            case "-" where rest.dropFirst().first == "-":
                rest = rest.drop { $0 != "\n" }
            case "/" where rest.dropFirst().first == "*":
                rest = rest.dropFirst(2)
                while let scalar = rest.popFirst(), !(scalar == "*" && rest.first == "/") {}
                rest = rest.dropFirst()
            case _ where isWordPart(next):
                let word = rest.prefix(while: isWordPart)
                tokens.append(.word(text(word).uppercased()))
                rest = rest.dropFirst(word.count)
            default:
                if next.value > 32 { tokens.append(.sign(next)) }
                rest = rest.dropFirst()
            }
        }
        return tokens
    }

    private static func quoted(_ rest: inout ArraySlice<Unicode.Scalar>, end: Unicode.Scalar) -> String {
        rest = rest.dropFirst()
        var name: [Unicode.Scalar] = []
        while let scalar = rest.popFirst() {
            if scalar == end {
                // A doubled quote is an escaped quote.
                guard rest.first == end, end != "]" else { break }
                rest = rest.dropFirst()
            }
            name.append(scalar)
        }
        return text(name[...]).uppercased()
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar == "$" || scalar.value > 127 || ("0"..."9").contains(scalar)
            || ("A"..."Z").contains(scalar) || ("a"..."z").contains(scalar)
    }
}

enum SQLName {
    static func quoted(_ schema: String, _ table: String) -> String {
        Connection.quoted(schema) + "." + Connection.quoted(table)
    }
}
