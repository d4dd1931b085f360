internal import FerryBase

/// The part of an expression that an error is about: the innermost one that could not be evaluated.
package enum ExpressionFault: Error {
    case expression(Expression)
    case predicate(Predicate)

    /// Where the part stands in the text that it was read from.
    ///
    /// What stands for something else (a table's name, `IN {…}`) is looked for by its parts.
    ///
    /// - Parameters:
    ///   - text: The text of a value expression or a predicate.
    ///   - key: The key in the part that is wrong, where one is.
    /// - Returns: Line and column, from 1; nil for a text that does not hold the part.
    package func place(in text: String, key: String? = nil) -> (line: Int, column: Int)? {
        do {
            var parser = try Parser(text, notesPlaces: true)
            _ = try parser.whole()
            guard let nodes = parser.read, let found = position(among: nodes) else { return nil }
            return parser.lexer.place(of: try Self.position(of: key, behind: found, in: text) ?? found)
        } catch {
            return nil
        }
    }

    private func position(among nodes: [Parser.Node]) -> Int? {
        for wanted in candidates {
            for node in nodes {
                switch (wanted, node.content) {
                case (.expression(let wanted), .expression(let found)) where wanted == found: return node.position
                case (.predicate(let wanted), .predicate(let found)) where wanted == found: return node.position
                default: break
                }
            }
        }
        return nil
    }

    /// The part, then what it is made of.
    private var candidates: [ExpressionFault] {
        let parts =
            switch self {
            case .expression(let expression): expression.parts
            case .predicate(let predicate): predicate.parts
            }
        return [self] + parts.filter { if case .constant = $0 { false } else { true } }.map { .expression($0) }
    }

    /// The place of a key's own word.
    private static func position(of key: String?, behind start: Int, in text: String) throws(FerryError) -> Int? {
        guard let key else { return nil }
        var lexer = try Lexer(text)
        while true {
            let token = try lexer.next()
            switch token.kind {
            case .end: return nil
            case .word(key) where token.position >= start, .key(key) where token.position >= start:
                return token.position
            default: break
            }
        }
    }
}

extension FerryError {
    /// The error with the part of an expression that it is about, if none within it was named yet.
    func at(_ fault: ExpressionFault) -> FerryError {
        guard cause == nil else { return self }
        var error = self
        error.cause = fault
        return error
    }
}

extension NearNames {
    /// A sentence that offers names near to one that was not found, or lists them all when none is.
    static func remedy(for name: String, among candidates: [String], _ prefix: String = "") -> String {
        func list(_ names: some Sequence<String>) -> String { names.map { prefix + $0 }.joined(separator: ", ") }
        let near = near(to: name, among: candidates)
        if !near.isEmpty { return "Did you mean \(list(near))?" }
        let known = Set(candidates).sorted()
        if known.isEmpty { return "There are none." }
        return "There are \(list(known.prefix(20)))\(known.count > 20 ? " and others" : "")."
    }
}
