internal import FerrySQLite

enum SQLNames {
    /// Returns words and quoted names in upper case, in order, without comments.
    static func names(in sql: String) -> [String] {
        var names: [String] = []
        var rest = Array(sql.unicodeScalars)[...]
        while let next = rest.first {
            switch next {
            case "\"", "`": names.append(quoted(&rest, end: next))
            case "[": names.append(quoted(&rest, end: "]"))
            // SQLite accepts a name in single quotes where it expects no value.
            case "'": names.append(quoted(&rest, end: next))
            case "-" where rest.dropFirst().first == "-":
                rest = rest.drop { $0 != "\n" }
            case "/" where rest.dropFirst().first == "*":
                rest = rest.dropFirst(2)
                while let scalar = rest.popFirst(), !(scalar == "*" && rest.first == "/") {}
                rest = rest.dropFirst()
            case _ where isWordPart(next):
                let word = rest.prefix(while: isWordPart)
                names.append(text(word).uppercased())
                rest = rest.dropFirst(word.count)
            default: rest = rest.dropFirst()
            }
        }
        return names
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
