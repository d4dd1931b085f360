internal import FerryBase

/// A value or a condition inside an expression; as the cause of an error, the innermost part that cannot be evaluated.
package enum ExpressionPart: Error, Hashable {
    case expression(Expression)
    case predicate(Predicate)

    /// Returns line and column, from 1, of the part, or of a key in it, in the text; nil if the text does not hold it.
    ///
    /// A part that the parser replaced (a table's name, `IN {…}`) is found by its own parts.
    package func place(in text: String, key: String? = nil) -> (line: Int, column: Int)? {
        do {
            var parser = try Parser(text, notesPlaces: true)
            _ = try parser.readAll()
            guard let nodes = parser.parsedNodes, let found = position(among: nodes) else { return nil }
            return parser.lexer.place(of: try Self.position(of: key, behind: found, in: text) ?? found)
        } catch {
            return nil
        }
    }

    private func position(among nodes: [Parser.Node]) -> Int? {
        for wanted in candidates {
            if let found = nodes.first(where: { $0.content == wanted }) { return found.position }
        }
        return nil
    }

    private var candidates: [ExpressionPart] {
        let parts =
            switch self {
            case .expression(let expression): expression.parts
            case .predicate(let predicate): predicate.parts
            }
        return [self] + parts.filter { if case .constant = $0 { false } else { true } }.map { .expression($0) }
    }

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

extension Expression {
    /// Returns an error about the expression, whose message begins with it.
    func error(_ problem: String, _ code: FerryError.Code = .badExpression, remedy: Remedy = "") -> FerryError {
        FerryError(code, "`\(self)` \(problem)", remedy: remedy)
    }
}

extension FerryError {
    /// Returns the error with the part as its cause, unless it already has a cause.
    func at(_ part: ExpressionPart) -> FerryError {
        guard cause == nil else { return self }
        var error = self
        error.cause = part
        return error
    }
}

extension ExpressionTranslation {
    /// Runs the check of a part of an expression; an error without a cause gets the part as its cause.
    func about<Result>(
        _ part: ExpressionPart, _ body: () throws(FerryError) -> Result
    ) throws(FerryError) -> Result {
        do {
            return try WorkThread.withStack(body)
        } catch {
            throw error.at(part)
        }
    }
}

extension NearNames {
    /// Returns a sentence with names near to an unknown name, or with all names if none is near.
    static func remedy(for name: String, among candidates: [String], _ prefix: String = "") -> String {
        func list(_ names: some Sequence<String>) -> String { names.map { prefix + $0 }.joined(separator: ", ") }
        let near = near(to: name, among: candidates)
        if !near.isEmpty { return "Did you mean \(list(near))?" }
        let known = Set(candidates).sorted()
        if known.isEmpty { return "There are none." }
        return "There are \(list(known.prefix(20)))\(known.count > 20 ? " and others" : "")."
    }
}
