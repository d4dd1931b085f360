internal import FerrySQLite

/// The SQL of a schema object, split at its outermost parentheses and their commas.
struct SQLText {
    private(set) var head = ""
    private(set) var parts: [String] = []
    private(set) var tail = ""

    /// Nil without such parentheses.
    init?(_ sql: String) {
        let text = Array(sql.utf8)
        var depth = 0
        var cuts: [Int] = []
        for case (.sign(let sign), let range) in SQLToken.all(in: text) {
            if sign == UInt8(ascii: "(") { depth += 1 }
            if depth == 1, "(,)".utf8.contains(sign) { cuts.append(range.lowerBound) }
            if sign == UInt8(ascii: ")") { depth -= 1 }
            if depth == 0, !cuts.isEmpty { break }
        }
        guard depth == 0, cuts.count > 1 else { return nil }
        let pieces = zip([-1] + cuts, cuts + [text.count]).map { String(decoding: text[($0 + 1)..<$1], as: UTF8.self) }
        (head, parts, tail) = (pieces[0], Array(pieces[1..<pieces.count - 1]), pieces[pieces.count - 1])
    }
}

/// The parts of a CREATE INDEX statement that no pragma returns: the expressions of its keys, and its condition.
struct IndexText {
    /// The expression of each key, without its direction.
    let keys: [String]
    private(set) var filter: String?

    init?(_ sql: String) {
        guard let text = SQLText(sql) else { return nil }
        keys = text.parts.map { part in
            guard let last = Self.word(in: part, SQLToken.all(in: Array(part.utf8)).last),
                ["ASC", "DESC"].contains(last.word)
            else { return part }
            return last.before
        }
        let tokens = SQLToken.all(in: Array(text.tail.utf8))
        if tokens.isEmpty { return }
        guard let first = Self.word(in: text.tail, tokens.first), first.word == "WHERE" else { return nil }
        filter = first.behind
    }

    /// A word in capital letters, with the text before and after it; nil for another token.
    private static func word(
        in text: String, _ found: (token: SQLToken, range: Range<Int>)?
    ) -> (before: String, word: String, behind: String)? {
        guard let found, let word = found.token.word else { return nil }
        let bytes = Array(text.utf8)
        return (
            String(decoding: bytes[..<found.range.lowerBound], as: UTF8.self), word,
            String(decoding: bytes[found.range.upperBound...], as: UTF8.self)
        )
    }
}

/// A CREATE TABLE statement, in the parts that ALTER TABLE keeps whatever the order of columns.
///
/// SQLite quotes the names that it renames, and adds columns at the end; it changes no other letter.
package struct TableText {
    struct Definition: Hashable {
        /// The column, or the first word of a constraint.
        let name: String
        /// Type and constraints, without whitespace and quotes.
        let rest: String
    }

    fileprivate let frame: [String]
    private let definitions: [Definition]

    package init(_ sql: String) {
        let text = SQLText(sql)
        frame = [text?.head ?? sql, text?.tail ?? ""].map(Self.bare)
        definitions = (text?.parts ?? []).map(Self.definition)
    }

    /// Whether ALTER TABLE can have made this statement from the sources', given the expected statement.
    ///
    /// Columns are checked separately: a definition may remain as it was in a source.
    package func isAltered(_ sources: SourceTables, into expected: TableText, columns: Set<String>) -> Bool {
        let known = Set(expected.definitions)
        return frame[0] == expected.frame[0] && (frame[1] == expected.frame[1] || sources.ends.contains(frame[1]))
            && definitions.allSatisfy { known.contains($0) || sources.kept.contains(Self.shape($0, columns)) }
    }

    fileprivate var shapes: [Definition] {
        let columns = Set(definitions.map(\.name)).subtracting(["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"])
        return definitions.map { Self.shape($0, columns) }
    }

    /// A definition with placeholders for column names, which renaming changes.
    private static func shape(_ definition: Definition, _ columns: Set<String>) -> Definition {
        let text = Array(definition.rest.utf8)
        let words = SQLToken.all(in: text).map { String(decoding: text[$0.range], as: UTF8.self) }
        return Definition(
            name: columns.contains(definition.name) ? "?" : definition.name,
            rest: words.map { columns.contains($0) ? "?" : $0 }.joined())
    }

    private static func definition(_ text: String) -> Definition {
        let bytes = Array(text.utf8)
        guard let (token, range) = SQLToken.all(in: bytes).first else { return Definition(name: "", rest: "") }
        let quotes = if case .quoted = token { 1 } else { 0 }
        return Definition(
            name: String(decoding: bytes[range].dropFirst(quotes).dropLast(quotes), as: UTF8.self),
            rest: bare(String(decoding: bytes[range.upperBound...], as: UTF8.self)))
    }

    private static func bare(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "\"" } }
}

/// The CREATE TABLE statements of a source, parsed once for all tables that are compared.
package final class SourceTables {
    let statements: Set<String>
    // Few comparisons need them.
    private lazy var texts = statements.map(TableText.init)
    fileprivate private(set) lazy var kept = Set(texts.flatMap(\.shapes))
    fileprivate private(set) lazy var ends = Set(texts.map { $0.frame[1] })

    package init(_ statements: [String]) { self.statements = Set(statements) }
}
