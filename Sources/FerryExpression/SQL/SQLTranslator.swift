package import FerryBase
package import FerryModel

/// Translates expressions and predicates to SQL text with exactly their meaning.
///
/// The text holds columns, placeholders, `+ - *` on operands that are always stored as reals, comparisons of numbers,
/// equality and nil tests, AND, OR and NOT. All else is a scalar function of the connection. No literal is in the text.
package struct SQLTranslator<Resolver: PathResolver> {
    private let translation: ExpressionTranslation
    /// The limit of depth for the next computation.
    private var depthLeft = Computation.depthLimit
    package var resolver: Resolver

    package init(scope: ExpressionScope, resolver: Resolver) {
        translation = ExpressionTranslation(scope: scope)
        self.resolver = resolver
    }

    /// Translates an expression in its own type.
    ///
    /// - Throws: As ``ExpressionTranslation/value(_:)``.
    package mutating func value(_ expression: Expression) throws(FerryError) -> String {
        try sql(translation.value(expression).computation)
    }

    /// Translates a predicate to SQL that yields 1 or 0, never NULL.
    ///
    /// Two nils are equal, nil and a value are not. Any other comparison with nil is false, so its NOT is true.
    package mutating func condition(_ predicate: Predicate) throws(FerryError) -> String {
        try sql(translation.condition(predicate))
    }

    /// Returns a computation as SQL.
    ///
    /// - Throws: Errors of the resolver; ``FerryError`` `.unsupported` for a computation that only code can run.
    package mutating func sql(_ computation: Computation) throws(FerryError) -> String {
        try WorkThread.withStack { () throws(FerryError) in try text(of: computation) }
    }

    private mutating func text(of computation: Computation) throws(FerryError) -> String {
        switch computation {
        // Limits the depth of its parts itself.
        case .collection(let collection): return try subquery(collection)
        // SQL has no way to go on after an error.
        case .operation(.orNil, _), .operation(.fails, _): return try evaluation(of: computation)
        case _ where computation.depth > depthLeft: return try evaluation(of: computation)
        case .column(let path): return try resolver.column(path)
        case .elementText: return try resolver.elementText()
        case .elementPosition: return try resolver.elementPosition()
        case .parameter(let value): return resolver.parameter(value)
        case .argument: preconditionFailure("only a bound computation has arguments")
        case .call(let name, let arguments):
            if let keys = computation.elementKeys, let column = try resolver.elementMember(keys) { return column }
            return "\(name)(\(try list(arguments, ", ")))"
        case .operation(let symbol, let operands): return try text(of: symbol, operands)
        case .policy(let name, _):
            throw FerryError(
                .unsupported, "\(name) of the migration policy is code, which SQL cannot call.",
                remedy: "Let Ferry choose the executor.")
        }
    }

    private mutating func text(
        of symbol: Computation.Operator, _ operands: [Computation]
    ) throws(FerryError) -> String {
        switch symbol {
        case .plus: return "(\(try list(operands, " + ")))"
        case .minus: return "(\(try list(operands, " - ")))"
        case .times: return "(\(try list(operands, " * ")))"
        case .ifNull: return "ifnull(\(try list(operands, ", ")))"
        case .same: return try list(operands, " IS ")
        case .isNull: return try text(of: operands[0]) + " IS NULL"
        case .isNotNull: return try text(of: operands[0]) + " IS NOT NULL"
        case .less: return "(\(try list(operands, " < "))) IS TRUE"
        case .lessOrEqual: return "(\(try list(operands, " <= "))) IS TRUE"
        case .all: return try joined(operands, "AND", whenEmpty: true)
        case .any: return try joined(operands, "OR", whenEmpty: false)
        case .not: return "NOT (\(try text(of: operands[0])))"
        case .orNil, .fails: preconditionFailure("Swift computes it")
        case .choose:
            let (condition, value) = (try text(of: operands[0]), try text(of: operands[1]))
            return "CASE WHEN \(condition) THEN \(value) ELSE \(try text(of: operands[2])) END"
        }
    }

    /// Returns the condition that a key is one of the objects of an expression that is not a path; NULL without an object.
    package mutating func condition(
        that expression: Expression, contains key: (_ entity: String) throws(FerryError) -> String
    ) throws(FerryError) -> String {
        let objects = try translation.objects(expression)
        guard case .collection(let collection) = objects.keys, objects.isCollection else {
            let only = try text(of: objects.keys)
            return "\(try key(objects.entity)) = \(only)"
        }
        depthLeft = Computation.collectionPartDepth
        defer { depthLeft = Computation.depthLimit }
        let members = try members(of: collection)
        return "\(try key(objects.entity)) IN (SELECT \(members.value ?? "NULL") FROM \(members.from))"
    }

    private mutating func subquery(_ collection: CollectionComputation) throws(FerryError) -> String {
        let outside = depthLeft
        depthLeft = min(outside, Computation.collectionPartDepth)
        defer { depthLeft = outside }
        let members = try members(of: collection)
        let value = members.value ?? "NULL"
        let order = members.order.isEmpty ? "" : " ORDER BY " + members.order.joined(separator: ", ")
        // The sum of reals depends on the order, and of equal values the first one counts.
        let values = "SELECT \(collection.isDistinct ? "DISTINCT " : "")\(value) AS v FROM \(members.from)"
        switch collection.aggregate {
        case .exists: return "EXISTS (SELECT 1 FROM \(members.from))"
        case .count where collection.isDistinct: return "(SELECT count(DISTINCT v) FROM (\(values)))"
        case .count: return "(SELECT count(*) FROM \(members.from))"
        case .function(let name) where collection.isDistinct:
            return "(SELECT \(name)(v) FROM (SELECT v FROM (\(values)) WHERE v IS NOT NULL ORDER BY v))"
        case .function(let name): return "(SELECT \(name)(v) FROM (\(values)\(order)))"
        case .sorted(let name):
            return "(SELECT \(name)(v, n) FROM (SELECT v, count(*) OVER () AS n FROM (\(values)) WHERE v IS NOT NULL"
                + " ORDER BY v))"
        case .element(let place):
            let isLast = place < 0
            let sorting =
                isLast && !order.isEmpty
                ? " ORDER BY " + members.order.map { "\($0) DESC" }.joined(separator: ", ") : order
            let one = resolver.parameter(.constant(.integer(1)))
            let skipped = resolver.parameter(.constant(.integer(isLast ? -1 - place : place)))
            return "(SELECT v FROM (\(values)\(sorting) LIMIT \(one) OFFSET \(skipped)))"
        }
    }

    /// Returns the FROM clause with its conditions, a member's value, and the terms that order the members.
    private mutating func members(
        of collection: CollectionComputation
    ) throws(FerryError) -> (from: String, value: String?, order: [String]) {
        var keys: String?
        switch collection.start {
        case .values(let parts):
            guard collection.filters.isEmpty else {
                throw FerryError(.internalError, "A union of values has conditions of its own.")
            }
            return ("(\(try union(of: parts)))", "v", ["v"])
        case .objects(_, let parts): keys = try union(of: parts)
        case .object, .entity: break
        }
        // The values belong to the outer query.
        let lookups = try collection.equalities.map { equality throws(FerryError) in
            (equality: equality, value: try text(of: equality.value))
        }
        try resolver.open(collection, keys: keys, lookups)
        let filters = try collection.filters.map { filter throws(FerryError) in "(\(try text(of: filter)))" }
        let value = try collection.value.map { value throws(FerryError) in try text(of: value) }
        let parts = resolver.closeCollection()
        let conditions = parts.conditions + filters
        let suffix = conditions.isEmpty ? "" : " WHERE " + conditions.balanced(by: "AND")
        return (parts.from + suffix, value, parts.order)
    }

    /// Returns the SELECT of the values of all parts, each value once.
    private mutating func union(of parts: [CollectionComputation]) throws(FerryError) -> String {
        let selects = try parts.map { part throws(FerryError) in
            let members = try members(of: part)
            return "SELECT \(members.value ?? "NULL") AS v FROM \(members.from)"
        }
        // A single part has no UNION and may repeat values; the caller's IN accepts them.
        return selects.joined(separator: " UNION ")
    }

    /// Returns a call of `ferry_evaluate` for a computation that is too deep for SQLite's parser.
    private mutating func evaluation(of computation: Computation) throws(FerryError) -> String {
        let bound = BoundComputation(computation)
        guard bound.isForSQL else {
            throw FerryError(
                .unsupported,
                "An expression nests more operations than SQLite allows.",
                remedy: "Split it, or compute it in a migration policy.")
        }
        let evaluator = resolver.parameter(bound)
        let arguments = try bound.arguments.map { part throws(FerryError) in try text(of: part) }
        return "\(BoundComputation.function)(\(([evaluator] + arguments).joined(separator: ", ")))"
    }

    private mutating func list(_ computations: [Computation], _ separator: String) throws(FerryError) -> String {
        try computations.map { part throws(FerryError) in try text(of: part) }.joined(separator: separator)
    }

    private mutating func joined(
        _ conditions: [Computation], _ word: String, whenEmpty: Bool
    ) throws(FerryError) -> String {
        if conditions.isEmpty { return resolver.parameter(.constant(.boolean(whenEmpty))) }
        return try conditions.map { part throws(FerryError) in "(\(try text(of: part)))" }.balanced(by: word)
    }
}

/// A value that a statement binds.
package enum SQLParameter: Sendable, Hashable {
    case constant(Expression.Constant)
    /// `now()`: the run's fixed time, in seconds since 2001-01-01 UTC, bound as a real.
    case now
}

extension Expression.Constant {
    /// The constant as a bound value; nil for NULL.
    package var stored: DefaultValue? {
        switch self {
        case .null: nil
        case .boolean(let flag): .integer(flag ? 1 : 0)
        case .integer(let integer): .integer(integer)
        case .double(let double): .real(double)
        case .string(let text): .text(text)
        }
    }
}

/// A statement under construction, which supplies columns and placeholders to the translation.
package protocol PathResolver {
    /// Returns the column at the end of a path, and adds the joins of the path to the statement.
    ///
    /// The end is an attribute (its column), an object (its key: `Z_PK`, or the foreign key of the last hop), or JSON
    /// without keys (the element's own value). The translation handles ``ResolvedPath/valueKeys``.
    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String

    /// Returns the JSON text of the iteration's element (``JSONArrayScanner/Element/json``), for `ferry_json_get`.
    mutating func elementText() throws(FerryError) -> String

    /// Returns the index of the iteration's element.
    mutating func elementPosition() throws(FerryError) -> String

    /// Returns the column that replaces `ferry_json_get` for a path of keys of the element; nil if there is none.
    mutating func elementMember(_ keys: [String]) throws(FerryError) -> String?

    /// Returns the placeholder of a value, for example `?3`; equal values may share one.
    mutating func parameter(_ value: SQLParameter) -> String

    /// Returns the placeholder of the evaluator of a computation.
    mutating func parameter(_ bound: BoundComputation) -> String

    /// Begins a subquery over the members of a collection; columns of members belong to the subquery.
    ///
    /// For a union of objects `keys` is the SELECT of their keys. An index may narrow the members by all `lookups`,
    /// each with its value as SQL in the outer query.
    mutating func open(
        _ collection: CollectionComputation, keys: String?, _ lookups: [(equality: MemberEquality, value: String)]
    ) throws(FerryError)

    /// Ends the latest subquery: its tables, conditions, and the terms that order the members as the relationships do.
    mutating func closeCollection() -> (from: String, conditions: [String], order: [String])
}

extension PathResolver {
    package mutating func open(
        _ collection: CollectionComputation, keys: String?, _ lookups: [(equality: MemberEquality, value: String)]
    ) throws(FerryError) {
        throw FerryError(.unsupported, "An expression reads a collection where there is only one row.")
    }

    package mutating func closeCollection() -> (from: String, conditions: [String], order: [String]) {
        preconditionFailure("no collection was begun")
    }

    package mutating func elementMember(_ keys: [String]) throws(FerryError) -> String? { nil }

    package mutating func elementPosition() throws(FerryError) -> String {
        throw FerryError(.unsupported, "An expression reads the position of an element where there is only one row.")
    }
}
