/// A `CREATE TABLE` statement, in the parts that ALTER TABLE keeps whatever it does to the order of columns.
///
/// SQLite puts names in quotes where it renames, and adds a column behind the others; it changes no letter besides.
package struct TableText {
    struct Definition: Hashable {
        /// The column; the first word of a constraint.
        let name: String
        /// Type and constraints, without space and quotes.
        let rest: String
    }

    /// What stands before the definitions and behind them.
    private let frame: [String]
    private let definitions: [Definition]

    package init(_ sql: String) {
        var pieces: [String] = [""]
        var (depth, quote) = (0, Character?.none)
        for letter in sql {
            if let open = quote {
                if letter == open { quote = nil }
            } else if "\"'`[".contains(letter) {
                quote = letter == "[" ? "]" : letter
            } else if letter == "(" {
                depth += 1
                if depth == 1 {
                    pieces.append("")
                    continue
                }
            } else if letter == ")" {
                depth -= 1
                if depth == 0 {
                    pieces.append("")
                    continue
                }
            } else if letter == ",", depth == 1 {
                pieces.append("")
                continue
            }
            pieces[pieces.count - 1].append(letter)
        }
        frame = [pieces.first ?? "", pieces.count > 1 ? pieces[pieces.count - 1] : ""].map(Self.bare)
        definitions = pieces.dropFirst().dropLast().map(Self.definition)
    }

    /// Whether a table of this statement may have come from the sources' by ALTER TABLE, to be the one that is asked for.
    ///
    /// - Parameters:
    ///   - sources: The source's tables.
    ///   - asked: The statement of a new table.
    ///   - columns: The table's columns, which are checked by themselves: one may keep what a source said of it.
    /// - Returns: False when a letter is another one.
    package func isAltered(_ sources: SourceTables, into asked: TableText, columns: Set<String>) -> Bool {
        let known = Set(asked.definitions)
        return frame[0] == asked.frame[0] && (frame[1] == asked.frame[1] || sources.ends.contains(frame[1]))
            && definitions.allSatisfy { known.contains($0) || sources.kept.contains(Self.shape($0, columns)) }
    }

    private var columns: Set<String> {
        Set(definitions.map(\.name)).subtracting(["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"])
    }

    /// A definition as it stays when columns are renamed: none has its name.
    private static func shape(_ definition: Definition, _ columns: Set<String>) -> Definition {
        var rest = ""
        var word = ""
        for letter in definition.rest + "\n" {
            if letter.isLetter || letter.isNumber || letter == "_" {
                word.append(letter)
            } else {
                rest += columns.contains(word) ? "?" : word
                rest.append(letter)
                word = ""
            }
        }
        return Definition(name: columns.contains(definition.name) ? "?" : definition.name, rest: rest)
    }

    private static func definition(_ text: String) -> Definition {
        let text = text.drop { $0.isWhitespace }
        let closing: [Character: Character] = ["\"": "\"", "`": "`", "[": "]"]
        guard let close = text.first.flatMap({ closing[$0] }) else {
            let name = text.prefix { !$0.isWhitespace && $0 != "(" }
            return Definition(name: String(name), rest: bare(String(text[name.endIndex...])))
        }
        let name = text.dropFirst().prefix { $0 != close }
        return Definition(name: String(name), rest: bare(String(text[name.endIndex...].dropFirst())))
    }

    private static func bare(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "\"" } }
}

/// The statements of a source's tables, and what ALTER TABLE keeps of them: read once for all tables that are compared.
package struct SourceTables {
    let statements: Set<String>
    fileprivate let kept: Set<TableText.Definition>
    fileprivate let ends: Set<String>

    package init(_ statements: [String]) {
        let texts = statements.map(TableText.init)
        self.statements = Set(statements)
        kept = Set(texts.flatMap(\.shapes))
        ends = Set(texts.map(\.end))
    }
}

extension TableText {
    fileprivate var end: String { frame[1] }
    fileprivate var shapes: [Definition] { definitions.map { Self.shape($0, columns) } }
}
