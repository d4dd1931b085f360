internal import FerryBase
internal import FerryModel

/// Collections: objects at the end of to-many relationships, `SUBQUERY`, `FETCH`, and their aggregates.
extension ExpressionTranslation {
    struct Members {
        var collection: CollectionComputation
        var entity: String
        /// The value of a member; nil if members are objects.
        var value: Typed?
        /// The collection's owner, at the end of to-one relationships and nil in some rows; nil without them.
        var owner: Computation?

        func member(_ variable: String?) -> ExpressionScope.Member {
            .init(variable: variable, entity: entity, level: collection.level)
        }

        /// The member itself: its value, or its key.
        var typed: Typed {
            let end = ResolvedPath.End.object(entity: entity)
            return value
                ?? Typed(.column(.init(start: .member(collection.level), end: end)), .object(entity: entity))
        }
    }

    /// The limit of nested collections: each is a subquery, and SQLite's parser stack has room for few.
    private static let levelLimit = 3

    /// Returns the members of a collection; nil for an expression with a single value.
    func members(of expression: Expression) throws(FerryError) -> Members? {
        let members = try collection(expression)
        if let members, members.collection.nesting > Self.levelLimit { throw Self.tooDeep(expression) }
        return members
    }

    static func tooDeep(_ expression: Expression) -> FerryError {
        expression.error(
            "nests more than \(levelLimit) collections.", .unsupported,
            remedy: "Nest fewer collections, or compute the value in a migration policy.")
    }

    func collection(_ expression: Expression) throws(FerryError) -> Members? {
        switch expression {
        case .evaluatedObject: return nil
        case .keyPath(let base, _) where base.isObject:
            if base == .variable("entityPolicy") { return nil }
            guard let path = try path(expression), path.isToMany else { return nil }
            let members = try members(at: path, expression)
            return path.isDistinct ? distinct(members) : members
        case .predefined:
            guard let (sets, left, right) = expression.setOperation else { return nil }
            return try collection(sets, left, right, expression)
        case .keyPath(let base, let steps):
            let (keys, isDistinct) = Self.flattened(steps)
            guard var members = try members(of: base), members.value == nil,
                !keys.contains(where: { if case .collectionOperator = $0 { true } else { false } })
            else { return nil }
            if !keys.isEmpty {
                members.value = try inside(members).value(.keyPath(.variable(Self.inner), keys))
            }
            return isDistinct ? distinct(members) : members
        case .subquery(let collection, let variable, let condition):
            guard var members = try members(of: collection), members.value == nil else {
                throw expression.error(
                    "searches something that is not a collection of objects.",
                    remedy: "Name a to-many relationship, as in SUBQUERY($source.books, $b, $b.price > 5).@count.")
            }
            members.collection.filters.append(try inside(members, variable).condition(condition))
            return members
        case .fetch(let entity, let condition):
            guard scope.model.entities[entity] != nil else {
                throw expression.error(
                    "fetches objects of \(entity), which the source model does not have.",
                    remedy: Remedy(NearNames.remedy(for: entity, among: Array(scope.model.entities.keys))))
            }
            var members = Members(
                collection: .init(start: .entity(entity), level: scope.members.count), entity: entity)
            if condition != .constant(true) {
                members.collection.filters.append(try inside(members, nil).condition(condition))
            }
            return members
        default: return nil
        }
    }

    /// A variable name that no text can contain.
    static let inner = "member of a collection"

    /// Returns the translation for conditions and values of a member.
    func inside(_ members: Members, _ variable: String? = ExpressionTranslation.inner) -> ExpressionTranslation {
        var scope = scope
        scope.members = scope.members.filter { $0.level < members.collection.level } + [members.member(variable)]
        return ExpressionTranslation(scope: scope)
    }

    /// Returns the objects, or values of objects, at the end of a path.
    private func members(at path: ResolvedPath, _ expression: Expression) throws(FerryError) -> Members {
        let prefix = Array(path.hops.prefix { !$0.relationship.isToMany })
        let hops = Array(path.hops[prefix.count...])
        guard let last = hops.last else { preconditionFailure("a collection begins with a to-many relationship") }
        let owner = ResolvedPath(start: path.start, hops: prefix, end: .object(entity: hops[0].entity))
        var members = Members(
            collection: .init(start: .object(owner), hops: hops, level: scope.members.count),
            entity: last.relationship.destinationEntity, owner: prefix.isEmpty ? nil : .column(owner))
        guard case .attribute = path.end else { return members }
        var rest = path
        rest.start = .member(members.collection.level)
        rest.hops = []
        members.value = try column(rest, expression)
        return members
    }

    // MARK: One value of many

    /// Translates a path with an operator such as `@count` behind its collection; nil for any other path.
    func aggregate(
        _ base: Expression, _ steps: [KeyPathStep], _ expression: Expression
    ) throws(FerryError) -> Typed? {
        guard let place = steps.firstIndex(where: \.isAggregate),
            let members = try members(of: .keyPath(base, Array(steps[..<place])))
        else { return nil }
        return try aggregate(members, Array(steps[place...]), expression)
    }

    /// Translates keys and an operator behind a collection.
    func aggregate(
        _ members: Members, _ steps: [KeyPathStep], _ expression: Expression
    ) throws(FerryError) -> Typed {
        let (steps, isDistinct) = Self.flattened(steps)
        let keys = steps.prefix { if case .key = $0 { true } else { false } }
        guard case .collectionOperator(let name)? = steps.dropFirst(keys.count).first else {
            throw isCollection(expression)
        }
        let rest = steps.dropFirst(keys.count + 1).filter { $0 != .key("self") && $0 != .key("SELF") }
        if name == "count", rest.isEmpty, keys.isEmpty || !isDistinct { return count(members) }
        guard AggregateFunction.operators.contains(name) else {
            throw expression.error(
                "uses @\(name), which Ferry does not support.", .unsupported,
                remedy: "Use @count, @sum, @avg, @min or @max.")
        }
        var members = members
        let path = Array(keys) + rest
        if !path.isEmpty {
            guard members.value == nil else {
                throw expression.error(
                    "applies keys to values.", remedy: "Put the keys before the operator that collects the values.")
            }
            // With all keys behind the operator, distinct applies to the objects, else to the values.
            if isDistinct, keys.isEmpty { members = distinct(members) }
            members.value = try inside(members).value(.keyPath(.variable(Self.inner), path))
            if isDistinct, !keys.isEmpty { members = distinct(members) }
        } else if isDistinct {
            members = distinct(members)
        }
        return name == "count" ? count(members) : try computed(name, of: members, expression)
    }

    /// Returns a path without flattening operators, and whether they drop duplicates.
    static func flattened(_ steps: [KeyPathStep]) -> (steps: [KeyPathStep], isDistinct: Bool) {
        var (rest, isDistinct) = ([KeyPathStep](), false)
        for step in steps {
            if case .collectionOperator(let name) = step, let drops = ExpressionScope.flattening[name] {
                isDistinct = isDistinct || drops
            } else {
                rest.append(step)
            }
        }
        return (rest, isDistinct)
    }

    /// Translates `count:`, `sum:` and others, of a collection or of a list.
    func aggregate(
        _ selector: String, of operand: Expression, _ expression: Expression
    ) throws(FerryError) -> Typed {
        let name = selector == "average:" ? "avg" : String(selector.dropLast())
        if let members = try members(of: operand) {
            return name == "count" ? count(members) : try computed(name, of: members, expression)
        }
        if operand.setOperation != nil { return try aggregate(name, ofSet: operand, expression) }
        guard case .list(let elements) = operand else {
            throw expression.error(
                "needs a collection, or a list in braces.",
                remedy: "Name a to-many relationship and an attribute, or write {a, b}.")
        }
        if name == "count" {
            return Typed(.constant(.integer(Int64(elements.count))), .integer64)
        }
        var values: [Typed] = []
        for element in elements { values.append(try value(element)) }
        let function = try listFunction(name, of: &values, expression)
        return Typed(
            .call(ScalarFunction.listName(function.aggregate), values.map(\.computation)), function.result)
    }

    /// Returns the function of a list, and the type of its result; converts the values to the function's arguments.
    func listFunction(
        _ name: String, of values: inout [Typed], _ expression: Expression
    ) throws(FerryError) -> (aggregate: AggregateFunction, result: ValueType) {
        guard let function = AggregateFunction.byOperator[name] else { preconditionFailure("no function for @\(name)") }
        let isExtreme = name == "min" || name == "max"
        if !isExtreme || Set(values.map(\.type)).subtracting([.null]).count > 1 {
            for index in values.indices { values[index] = try number(values[index], expression) }
            // Whole and other numbers would give a result whose type differs by row.
            if isExtreme, Set(values.map(\.type.isInteger)).count > 1 {
                throw mismatch(
                    values[0].type.title, values.first { $0.type.isInteger != values[0].type.isInteger } ?? values[0],
                    expression)
            }
        }
        return (function, isExtreme ? values.first { $0.type != .null }?.type ?? .null : .attribute(.double))
    }

    func count(_ members: Members) -> Typed {
        var collection = members.collection
        collection.aggregate = .count
        // The count of distinct values needs the values.
        if collection.isDistinct { collection.value = members.value?.computation }
        return Typed(owned(collection, members), .integer64)
    }

    private func computed(_ name: String, of members: Members, _ expression: Expression) throws(FerryError) -> Typed {
        guard let function = AggregateFunction.byOperator[name], let value = members.value else {
            throw expression.error("computes @\(name) of objects, not values.", remedy: "Name one of their attributes.")
        }
        let isTotal = name != "min" && name != "max"
        let isFit =
            isTotal ? value.type.isNumber && value.type != .attribute(.date) : value.type.isNumber || value.type.isText
        guard isFit || value.type.isInteger else {
            throw mismatch(isTotal ? "numbers" : "numbers, dates or texts", value, expression)
        }
        var collection = members.collection
        // Duplicates change neither minimum nor maximum.
        if !isTotal { collection.isDistinct = false }
        collection.aggregate = function.isOfSorted ? .sorted(function.name) : .function(function.name)
        collection.value = value.computation
        return Typed(owned(collection, members), isTotal ? .attribute(.double) : value.type)
    }

    /// Returns the collection's value; nil in rows without the owner of the collection.
    func owned(_ collection: CollectionComputation, _ members: Members) -> Computation {
        guard let owner = members.owner else { return .collection(collection) }
        return .operation(.choose, [.operation(.isNull, [owner]), .constant(.null), .collection(collection)])
    }

    // MARK: Conditions

    /// Translates `ANY`, `ALL` and `NONE` of a collection or of a list.
    func condition(
        _ quantifier: Predicate.Quantifier, _ operand: Expression, _ predicate: Predicate
    ) throws(FerryError) -> Computation {
        if let elements = try listElements(operand) {
            var conditions: [Computation] = []
            for element in elements {
                var translation = self
                translation.member = element.typed
                let condition = try translation.condition(predicate)
                conditions.append(
                    quantifier == .all
                        ? element.condition.map { .any([.not($0), condition]) } ?? condition : element.and(condition))
            }
            switch quantifier {
            case .any: return .any(conditions)
            case .all: return .all(conditions)
            case .none: return .not(.any(conditions))
            }
        }
        if case (.union, let left, let right)? = Self.unionFirst(operand).setOperation {
            // A member of both sides is checked twice, with the same result.
            let sides = [try condition(quantifier, left, predicate), try condition(quantifier, right, predicate)]
            return quantifier == .any ? .any(sides) : .all(sides)
        }
        guard let members = try members(of: operand) else {
            throw FerryError(
                .badExpression, "`\(quantifier.rawValue) \(operand)` is applied to a single value.",
                remedy: "Leave \(quantifier.rawValue) out, or name a to-many relationship.")
        }
        var translation = self
        // The condition on a member may contain collections.
        translation.scope.members.append(members.member(Self.inner))
        translation.member = members.typed
        let condition = try translation.condition(predicate)
        switch quantifier {
        case .any: return try exists(members, condition, operand)
        case .all: return .not(try exists(members, .not(condition), operand))
        case .none: return .not(try exists(members, condition, operand))
        }
    }

    func exists(
        _ members: Members, _ condition: Computation, _ expression: Expression
    ) throws(FerryError) -> Computation {
        var collection = members.collection
        collection.aggregate = .exists
        collection.filters.append(condition)
        if collection.nesting > Self.levelLimit { throw Self.tooDeep(expression) }
        return .collection(collection)
    }
}
