package import FerryBase
package import FerryModel

/// Checks expressions against the models before any row is read.
///
/// The check is the translation itself: what passes here can be evaluated.
package struct ExpressionChecker: Sendable {
    package let scope: ExpressionScope

    package init(scope: ExpressionScope) { self.scope = scope }

    /// Checks the value of a destination attribute.
    ///
    /// - Throws: ``FerryError`` naming the expression, the entity and the property, with names that are near.
    package func check(_ expression: Expression, for attribute: Attribute) throws(FerryError) {
        _ = try ExpressionTranslation(scope: scope).value(expression, for: attribute)
    }

    /// Checks a filter.
    ///
    /// - Throws: As ``check(_:for:)``.
    package func check(_ predicate: Predicate) throws(FerryError) {
        _ = try ExpressionTranslation(scope: scope).condition(predicate)
    }

    /// Checks what a relationship takes its objects from.
    ///
    /// - Returns: The path followed; for anything else than a path one without relationships, from nowhere.
    /// - Throws: As ``check(_:for:)``.
    package func checkObjects(_ expression: Expression) throws(FerryError) -> ResolvedPath {
        do {
            if expression.isPath { return try scope.resolveObjects(expression) }
            let entity = try ExpressionTranslation(scope: scope).objects(expression).entity
            return ResolvedPath(start: .member(0), end: .object(entity: entity))
        } catch {
            throw error.at(.expression(expression))
        }
    }

    /// Checks the elements of a `forEach`.
    ///
    /// - Returns: What each element is.
    /// - Throws: As ``check(_:for:)``.
    package func checkElements(_ expression: Expression) throws(FerryError) -> ExpressionScope.Element {
        do {
            return try elements(expression)
        } catch {
            throw error.at(.expression(expression))
        }
    }

    private func elements(_ expression: Expression) throws(FerryError) -> ExpressionScope.Element {
        guard case .json(let text, _) = expression else {
            if !expression.isPath {
                let objects = try ExpressionTranslation(scope: scope).objects(expression)
                guard objects.isCollection else { throw Self.single(expression) }
                return .object(entity: objects.entity)
            }
            let path = try scope.resolveObjects(expression)
            guard path.isToMany, case .object(let entity) = path.end else { throw Self.single(expression) }
            return .object(entity: entity)
        }
        let type = try ExpressionTranslation(scope: scope).value(text).type
        guard type.isText || type == .null || type == .attribute(.binary), !(try isExternal(text)) else {
            throw FerryError(
                .badExpression, "`\(expression)` reads JSON from \(type.title).",
                remedy: "Name a String attribute, or a Binary Data attribute that is stored in the row.")
        }
        return .json
    }

    private static func single(_ expression: Expression) -> FerryError {
        FerryError(
            .badExpression, "`\(expression)` yields at most one object, and `forEach` needs several.",
            remedy: "Name a to-many relationship, or leave `forEach` out.")
    }

    private func isExternal(_ expression: Expression) throws(FerryError) -> Bool {
        guard case .keyPath(let base, let steps) = expression,
            case .attribute(let attribute, _) = try scope.resolve(base, steps).end
        else { return false }
        return attribute.allowsExternalStorage
    }

}

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
