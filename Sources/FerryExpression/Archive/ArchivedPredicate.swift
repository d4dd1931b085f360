package import FerryBase
package import FerryModel

/// Reads predicates from keyed archives, as they stand in archived conditions and subqueries.
///
/// What it gives is what the same predicate gives as text.
package enum ArchivedPredicate {
    /// - Throws: ``FerryError`` `.badArchive` for damage, `.unsupported` for a class that is not known.
    package static func decode(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        guard let name = try object.className else {
            throw FerryError(.badArchive, "A plain value stands where an archived predicate is needed.")
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
        guard let archived = try object.elements("NSSubpredicates") else { throw incomplete("NSCompoundPredicate") }
        var parts: [Predicate] = []
        for part in archived { parts.append(try decode(part)) }
        // Archives leave out what is 0.
        switch try object.integer("NSCompoundPredicateType") ?? 0 {
        case 0:
            guard parts.count == 1 else { throw incomplete("NSCompoundPredicate") }
            return .not(parts[0])
        case 1: return parts.count == 1 ? parts[0] : .and(parts)
        case 2: return parts.count == 1 ? parts[0] : .or(parts)
        default: throw incomplete("NSCompoundPredicate")
        }
    }

    private static func comparison(_ object: ArchivedObject) throws(FerryError) -> Predicate {
        guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
            let operation = try object.object("NSPredicateOperator")
        else { throw incomplete("NSComparisonPredicate") }
        let (first, second) = (try ArchivedExpression.decode(left), try ArchivedExpression.decode(right))
        switch try operation.integer("NSModifier") ?? 0 {
        case 0: return try predicate(first, operation, second)
        case 1: return .quantified(.all, first, try predicate(.member, operation, second))
        case 2: return .quantified(.any, first, try predicate(.member, operation, second))
        default: throw incomplete("NSComparisonPredicate")
        }
    }

    /// By the framework's public numbers.
    private static func predicate(
        _ left: Expression, _ operation: ArchivedObject, _ right: Expression
    ) throws(FerryError) -> Predicate {
        let options = try self.options(of: operation)
        func compare(_ comparator: Predicate.Comparison.Operator, _ right: Expression) -> Predicate {
            .comparison(.init(left: left, comparator: comparator, right: right, options: options))
        }
        let isNegated = try operation.flag("NSNegate")
        switch try operation.integer("NSOperatorType") ?? 0 {
        case 0: return compare(.less, right)
        case 1: return compare(.lessOrEqual, right)
        case 2: return compare(.greater, right)
        case 3: return compare(.greaterOrEqual, right)
        case 4: return compare(isNegated ? .notEqual : .equal, right)
        case 5: return compare(.notEqual, right)
        case 6: return compare(.matches, right)
        case 7: return search(.like, right, compare)
        case 8: return search(.beginsWith, right, compare)
        case 9: return search(.endsWith, right, compare)
        case 10:
            guard case .list(let elements) = right else { return compare(.isIn, right) }
            let parts = elements.map { compare(.equal, $0) }
            return parts.isEmpty ? .constant(false) : parts.count == 1 ? parts[0] : .or(parts)
        case 99: return search(.contains, right, compare)
        case 100:
            guard case .list(let bounds) = right, bounds.count == 2 else {
                throw incomplete("NSBetweenPredicateOperator")
            }
            return .and([compare(.greaterOrEqual, bounds[0]), compare(.lessOrEqual, bounds[1])])
        case 11:
            throw FerryError(
                .unsupported, "An archived predicate compares by a method of the app (NSCustomPredicateOperator).",
                remedy: "Give the property an expression of its own in a mapping file.")
        default: throw incomplete("NSComparisonPredicate")
        }
    }

    private static func search(
        _ kind: TextOperator, _ wanted: Expression,
        _ compare: (Predicate.Comparison.Operator, Expression) -> Predicate
    ) -> Predicate {
        guard case .constant(.string(let text)) = wanted, !text.isEmpty || kind == .like else {
            return compare(kind.comparator, wanted)
        }
        return compare(.matches, .constant(.string(kind.pattern(for: text))))
    }

    private static func options(of operation: ArchivedObject) throws(FerryError) -> String {
        let (flags, options) = (try operation.integer("NSFlags"), try operation.integer("NSOptions"))
        let bits = flags ?? options ?? 0
        return [(1, "c"), (2, "d"), (4, "n"), (8, "l")].filter { bits & $0.0 != 0 }.map(\.1).joined()
    }

    private static func incomplete(_ name: String) -> FerryError {
        FerryError(
            .badArchive, "An archived \(name) lacks a part that it needs.",
            remedy: "Use an undamaged copy, or give the property an expression of its own in a mapping file.")
    }
}
