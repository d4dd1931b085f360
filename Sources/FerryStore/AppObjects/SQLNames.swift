internal import FerrySQLite

/// The names in an SQL text.
enum SQLNames {
    /// Words and quoted names in upper case, in order; literals and comments left out.
    static func names(in sql: String) -> [String] {
        var names: [String] = []
        var rest = Array(sql.unicodeScalars)[...]
        while let next = rest.first {
            switch next {
            case "\"", "`": names.append(quoted(&rest, end: next))
            case "[": names.append(quoted(&rest, end: "]"))
            // A name in single quotes is one where no value is expected.
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
                // A doubled quote stands for itself.
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

/// Names of tables in SQL text.
enum SQLName {
    /// A table of an attached database, safe whatever the names hold.
    static func quoted(_ schema: String, _ table: String) -> String {
        Connection.quoted(schema) + "." + Connection.quoted(table)
    }
}
