package import FerryBase
package import FerryModel

/// Reads expressions from keyed archives: from `valueexpressiondata` of a mapping model's source, and from a `.cdm`.
///
/// The decoder knows the classes of real mapping models. Any other class is an error that names it, so that Ferry never
/// reads a part of an expression as the whole.
package enum ArchivedExpression {
    /// Reads the expression that is the root of an archive.
    ///
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for an unknown class.
    package static func decode(_ archive: [UInt8]) throws(FerryError) -> Expression {
        try WorkThread.withStack { () throws(FerryError) in try decode(try KeyedArchive(archive).root) }
    }

    /// Reads one archived expression; key paths on key paths become one key path.
    ///
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for an unknown class.
    package static func decode(_ object: ArchivedObject) throws(FerryError) -> Expression {
        guard let name = try object.className else {
            throw FerryError(.badArchive, "Expected an archived expression, found a plain value.")
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
        case "NSFetchRequestExpression": return try fetch(object)
        case "NSAggregateExpression":
            guard let elements = try object.elements("NSCollection") else { throw incomplete(name) }
            return .list(try elements.map { element throws(FerryError) in try member(element) })
        case "NSSetExpression":
            guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
                let sets = Self.sets[try object.integer("NSExpressionType") ?? 0]
            else { throw incomplete(name) }
            return .predefined(sets.rawValue, [try decode(left), try decode(right)])
        case "NSTernaryExpression":
            guard let condition = try object.object("NSPredicate"), let value = try object.object("NSTrueExpression"),
                let other = try object.object("NSFalseExpression")
            else { throw incomplete(name) }
            return .ternary(try ArchivedPredicate.decode(condition), try decode(value), try decode(other))
        case "NSSubqueryExpression": return try subquery(object)
        default: throw refusal(of: name)
        }
    }

    private static func member(_ element: ArchivedObject) throws(FerryError) -> Expression {
        for name in try element.classNames where name == "NSExpression" { return try decode(element) }
        return try constant(of: element)
    }

    /// Set operators by the raw values of `NSExpression.ExpressionType`.
    private static let sets: [Int64: SetOperator] = [5: .union, 6: .intersect, 7: .minus]

    /// Classes that Ferry cannot evaluate on a store, with the reason.
    private static let refused = [
        "NSBlockExpression": "is code, which only the app has",
        "NSBlockPredicate": "is code, which only the app has",
        "NSAnyKeyExpression": "stands for any key of an object, for which a model has no values",
        "NSVariableAssignmentExpression":
            "binds a variable, and only Core Data binds the variables of a mapping model",
    ]

    static func refusal(of name: String) -> FerryError {
        let reason = refused[name].map { "An archived \(name) \($0)." }
        return unsupported(reason ?? "An archived expression of the class \(name) is not supported.")
    }

    fileprivate static func unsupported(_ message: String) -> FerryError {
        FerryError(
            .unsupported, message, remedy: "Give the property its own expression in a mapping file.")
    }

    private static func fetch(_ object: ArchivedObject) throws(FerryError) -> Expression {
        guard let request = try object.object("NSFRExpression"),
            let fetch = try Expression(fetchRequest: try decode(request))
        else {
            throw unsupported(
                "An archived fetch (NSFetchRequestExpression) asks for something other than objects of the source by the "
                    + "migration manager.")
        }
        return try object.flag("NSCountOnlyFlag") ? .keyPath(fetch, [.collectionOperator("count")]) : fetch
    }

    private static func subquery(_ object: ArchivedObject) throws(FerryError) -> Expression {
        guard let collection = try object.object("NSExpression"), let variable = try object.object("NSVariable"),
            let condition = try object.object("NSSubpredicate")
        else { throw incomplete("NSSubqueryExpression") }
        var name = try variable.text
        if name == nil, case .variable(let text) = try decode(variable) { name = text }
        guard let name else { throw incomplete("NSSubqueryExpression") }
        return .subquery(try decode(collection), variable: name, try ArchivedPredicate.decode(condition))
    }

    /// Reads `list[index]`, in archives a function.
    private static func element(_ archived: [ArchivedObject], _ name: String) throws(FerryError) -> Expression {
        guard archived.count == 2 else { throw incomplete(name) }
        let list = try decode(archived[0])
        if try archived[1].className == "NSSymbolicExpression" {
            for key: StaticString in ["NSToken", "NSSymbol", "NSConstantValue"] {
                if let index = try archived[1].text(key).flatMap(ElementIndex.init(word:)) {
                    return .element(list, index)
                }
            }
            throw incomplete("NSSymbolicExpression")
        }
        guard case .constant(.integer(let place)) = try decode(archived[1]), place >= 0 else {
            throw unsupported("An archived expression uses a computed index into a collection.")
        }
        return .element(list, .at(place))
    }

    /// Reads the predicate of a compiled entity mapping's source expression, a fetch that Xcode generates.
    ///
    /// - Throws: ``FerryError`` `.unsupported` for a source expression that Xcode did not generate.
    package static func decodeGeneratedFetch(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        if try object.className == "NSFetchRequestExpression", try !object.flag("NSCountOnlyFlag"),
            let request = try object.object("NSFRExpression"),
            case .fetch(_, let predicate)? = try Expression(fetchRequest: try decode(request))
        {
            return predicate
        }
        throw FerryError(
            .unsupported, "An entity mapping has its own source expression.",
            remedy: "Give the entity mapping a source and a `where` in a mapping file.")
    }

    private static func constant(_ object: ArchivedObject) throws(FerryError) -> Expression {
        if let name = try object.text("NSConstantValueClassName") {
            throw unsupported("The class \(name) is used as a value in an archived expression.")
        }
        guard let value = try object.object("NSConstantValue"), try !value.isNull else { return .constant(.null) }
        return try constant(of: value)
    }

    private static func constant(of value: ArchivedObject) throws(FerryError) -> Expression {
        switch value.value {
        case .plain(.bool(let flag)): return .constant(.boolean(flag))
        case .plain(.integer(let number)): return .constant(.integer(number))
        case .plain(.real(let number)): return .constant(.double(number))
        default: break
        }
        if let text = try value.text { return .constant(.string(text)) }
        if let seconds = try value.date {
            return .predefined("castObject:toType:", [.constant(.double(seconds)), .constant(.string("NSDate"))])
        }
        let classes = try value.classNames
        if ["NSArray", "NSSet", "NSOrderedSet"].contains(where: classes.contains), let elements = try value.elements {
            return .list(try elements.map { element throws(FerryError) in try constant(of: element) })
        }
        throw unsupported(
            "An archived constant of the class \(try value.className ?? "NSData") is not supported.")
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
        if selector == "objectFrom:withIndex:" { return try element(archived, name) }
        let arguments = try archived.map { argument throws(FerryError) in try decode(argument) }
        if try operand.text("NSConstantValueClassName") == "_NSPredicateUtilities" {
            guard PredefinedFunction.all[selector]?.argumentCount == arguments.count else {
                throw unsupported(
                    "The predefined function \(selector) of an archived expression is not supported.")
            }
            return .call(selector, arguments)
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

    fileprivate static func incomplete(_ name: String) -> FerryError {
        FerryError(
            .badArchive, "An archived \(name) is incomplete.",
            remedy: "Use an undamaged copy, or give the property its own expression in a mapping file.")
    }
}

/// Reads the predicates of archived conditions and subqueries; the result equals that of the parsed text.
enum ArchivedPredicate {
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for an unknown class.
    static func decode(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        guard let name = try object.className else {
            throw FerryError(.badArchive, "Expected an archived predicate, found a plain value.")
        }
        switch name {
        case "NSTruePredicate": return .constant(true)
        case "NSFalsePredicate": return .constant(false)
        case "NSCompoundPredicate": return try compound(object)
        case "NSComparisonPredicate": return try comparison(object)
        default: throw ArchivedExpression.refusal(of: name)
        }
    }

    private static func compound(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        let incomplete = ArchivedExpression.incomplete("NSCompoundPredicate")
        guard let archived = try object.elements("NSSubpredicates") else { throw incomplete }
        let parts = try archived.map { part throws(FerryError) in try decode(part) }
        // Archives leave out zeros.
        switch try object.integer("NSCompoundPredicateType") ?? 0 {
        case 0:
            guard parts.count == 1 else { throw incomplete }
            return .not(parts[0])
        case 1: return parts.count == 1 ? parts[0] : .and(parts)
        case 2: return parts.count == 1 ? parts[0] : .or(parts)
        default: throw incomplete
        }
    }

    private static func comparison(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
            let operation = try object.object("NSPredicateOperator")
        else { throw ArchivedExpression.incomplete("NSComparisonPredicate") }
        let (first, second) = (try ArchivedExpression.decode(left), try ArchivedExpression.decode(right))
        switch try operation.integer("NSModifier") ?? 0 {
        case 0: return try predicate(first, operation, second)
        case 1: return .quantified(.all, first, try predicate(.member, operation, second))
        case 2: return .quantified(.any, first, try predicate(.member, operation, second))
        default: throw ArchivedExpression.incomplete("NSComparisonPredicate")
        }
    }

    /// Comparators by the raw values of `NSComparisonPredicate.Operator`.
    private static let comparators: [Int64: Predicate.Comparison.Operator] = [
        0: .less, 1: .lessOrEqual, 2: .greater, 3: .greaterOrEqual, 4: .equal, 5: .notEqual, 6: .matches, 7: .like,
        8: .beginsWith, 9: .endsWith, 10: .isIn, 99: .contains,
    ]

    private static func predicate(
        _ left: Expression, _ operation: ArchivedObject, _ right: Expression
    ) throws(FerryError) -> Predicate {
        let options = try self.options(of: operation)
        switch (try operation.integer("NSOperatorType") ?? 0, right) {
        case (10, .list(let elements)): return .isEqual(left, toOneOf: elements, options)
        case (100, .list(let bounds)) where bounds.count == 2: return .isBetween(left, bounds[0], bounds[1], options)
        case (100, _): throw ArchivedExpression.incomplete("NSBetweenPredicateOperator")
        case (11, _):
            throw ArchivedExpression.unsupported(
                "An archived predicate compares with a method of the app (NSCustomPredicateOperator).")
        case (let number, _):
            guard var comparator = comparators[number] else {
                throw ArchivedExpression.incomplete("NSComparisonPredicate")
            }
            if comparator == .equal, try operation.flag("NSNegate") { comparator = .notEqual }
            return .compare(left, comparator, right, options)
        }
    }

    private static func options(of operation: ArchivedObject) throws(FerryError) -> String {
        let (flags, options) = (try operation.integer("NSFlags"), try operation.integer("NSOptions"))
        let bits = flags ?? options ?? 0
        return [(1, "c"), (2, "d"), (4, "n"), (8, "l")].filter { bits & $0.0 != 0 }.map(\.1).joined()
    }
}
