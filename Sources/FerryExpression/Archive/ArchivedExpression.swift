package import FerryBase
package import FerryModel

/// Reads expressions from keyed archives: from `valueexpressiondata` of a mapping model's source, and from a `.cdm`.
///
/// The classes seen in real mapping models are known; any other is an error that names it, so that nothing is read as
/// less than it is.
package enum ArchivedExpression {
    /// The fetch that Xcode generates as an entity mapping's source expression.
    package struct GeneratedFetch: Sendable, Hashable {
        package var entity: String
        package var predicate: Predicate
    }

    /// Reads the expression that is the root of an archive.
    ///
    /// - Returns: The expression, key paths of key paths joined to one.
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for a class that is not known.
    package static func decode(_ archive: [UInt8]) throws(FerryError) -> Expression {
        try decode(try KeyedArchive(archive).root)
    }

    /// Reads one archived expression.
    ///
    /// - Returns: The expression, key paths of key paths joined to one.
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for a class that is not known.
    package static func decode(_ object: ArchivedObject) throws(FerryError) -> Expression {
        guard let name = try object.className else {
            throw FerryError(.badArchive, "A plain value stands where an archived expression is needed.")
        }
        switch name {
        case "NSSelfExpression": return .evaluatedObject
        case "NSVariableExpression":
            guard let variable = try object.text("NSVariable") else { throw incomplete(name) }
            return .variable(variable)
        case "NSConstantValueExpression": return try constant(object)
        case "NSKeyPathSpecifierExpression":
            guard let path = try object.text("NSKeyPath") else { throw incomplete(name) }
            return .keyPath(.evaluatedObject, try steps(path))
        case "NSFunctionExpression", "NSKeyPathExpression": return try function(object, name)
        case "NSFetchRequestExpression":
            throw FerryError(
                .unsupported, "An archived fetch (NSFetchRequestExpression) stands where one value is needed.",
                remedy: "Give the property an expression of its own in a mapping file.")
        default:
            throw FerryError(
                .unsupported, "An archived expression of the class \(name) is not known to Ferry.",
                remedy: "Give the property an expression of its own in a mapping file.")
        }
    }

    /// Reads the source expression of a compiled entity mapping.
    ///
    /// - Returns: The entity and the predicate of the fetch.
    /// - Throws: ``FerryError`` `.unsupported` for a source expression that Xcode did not generate.
    package static func decodeGeneratedFetch(_ object: ArchivedObject) throws(FerryError) -> GeneratedFetch {
        if try object.className == "NSFetchRequestExpression", try !object.flag("NSCountOnlyFlag"),
            let request = try object.object("NSFRExpression"),
            case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments) =
                try decode(request),
            arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
            case .constant(.string(let predicate)) = arguments[1]
        {
            return GeneratedFetch(entity: entity, predicate: try Predicate.parse(predicate))
        }
        throw FerryError(
            .unsupported, "An entity mapping has a source expression of its own.",
            remedy: "Give the entity mapping a source and a `where` in a mapping file.")
    }

    private static func constant(_ object: ArchivedObject) throws(FerryError) -> Expression {
        if let name = try object.text("NSConstantValueClassName") {
            throw FerryError(
                .unsupported, "The class \(name) is used as a value in an archived expression.",
                remedy: "Give the property an expression of its own in a mapping file.")
        }
        guard let value = try object.object("NSConstantValue"), try !value.isNull else { return .constant(.null) }
        switch value.value {
        case .bool(let flag): return .constant(.boolean(flag))
        case .integer(let number): return .constant(.integer(number))
        case .real(let number): return .constant(.double(number))
        default: break
        }
        if let text = try value.text { return .constant(.string(text)) }
        if let seconds = try value.date {
            return .predefined("castObject:toType:", [.constant(.double(seconds)), .constant(.string("NSDate"))])
        }
        throw FerryError(
            .unsupported, "An archived constant of the class \(try value.className ?? "NSData") is not known to Ferry.",
            remedy: "Give the property an expression of its own in a mapping file.")
    }

    private static func function(_ object: ArchivedObject, _ name: String) throws(FerryError) -> Expression {
        guard let selector = try object.text("NSSelectorName"), let operand = try object.object("NSOperand") else {
            throw incomplete(name)
        }
        let archived = try object.elements("NSArguments") ?? []
        if selector == "valueForKeyPath:" || selector == "valueForKey:" {
            guard archived.count == 1 else { throw incomplete(name) }
            return try keyPath(operand, archived[0], name)
        }
        var arguments: [Expression] = []
        for argument in archived { arguments.append(try decode(argument)) }
        if try operand.text("NSConstantValueClassName") == "_NSPredicateUtilities" {
            guard PredefinedFunction.all[selector]?.argumentCount == arguments.count else {
                throw FerryError(
                    .unsupported,
                    "The predefined function \(selector) of an archived expression is not known to Ferry.",
                    remedy: "Give the property an expression of its own in a mapping file.")
            }
            return .predefined(selector, arguments)
        }
        return .function(receiver: try decode(operand), selector: selector, arguments: arguments)
    }

    private static func keyPath(
        _ operand: ArchivedObject, _ path: ArchivedObject, _ name: String
    ) throws(FerryError) -> Expression {
        let steps: [KeyPathStep]
        switch try decode(path) {
        case .keyPath(.evaluatedObject, let found): steps = found
        case .constant(.string(let text)): steps = try self.steps(text)
        default: throw incomplete(name)
        }
        let base = try decode(operand)
        if case .keyPath(let inner, let first) = base { return .keyPath(inner, first + steps) }
        return .keyPath(base, steps)
    }

    /// The steps of a dotted path.
    private static func steps(_ path: String) throws(FerryError) -> [KeyPathStep] {
        var steps: [KeyPathStep] = []
        for part in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard !part.isEmpty, part != "@" else {
                throw FerryError(.badArchive, "An archived expression has the malformed key path \(path).")
            }
            steps.append(part.hasPrefix("@") ? .collectionOperator(String(part.dropFirst())) : .key(String(part)))
        }
        return steps
    }

    private static func incomplete(_ name: String) -> FerryError {
        FerryError(
            .badArchive, "An archived \(name) lacks a part that it needs.",
            remedy: "Use an undamaged copy, or give the property an expression of its own in a mapping file.")
    }
}
