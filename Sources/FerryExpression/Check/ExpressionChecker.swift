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
