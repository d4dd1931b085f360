internal import FerryBase
internal import FerryModel

/// `UNION`, `INTERSECT`, `MINUS` and distinct unions, of objects and of values; and one member by its index.
extension ExpressionTranslation {
    // MARK: Collections

    func distinct(_ members: Members) -> Members {
        var members = members
        if members.value != nil {
            members.collection.isDistinct = true
        } else {
            members.collection = objects(of: members.entity, [members])
        }
        return members
    }

    func collection(
        _ sets: SetOperator, _ first: Expression, _ second: Expression, _ expression: Expression
    ) throws(FerryError) -> Members? {
        let ordered = Self.unionFirst(expression)
        if ordered != expression { return try collection(ordered) }
        guard var left = try collection(first) else { return nil }
        if sets != .union, case .objects(_, let parts) = left.collection.start, parts.count == 1,
            left.collection.filters.isEmpty
        {
            // The result becomes distinct once, at the end.
            left.collection = parts[0]
            left.collection.value = nil
        }
        switch sets {
        case .union:
            guard let right = try collection(second) else {
                throw expression.error(
                    "combines values of objects with constants.", .unsupported,
                    remedy: "Test each one separately: x IN a OR x IN b.")
            }
            return try union(left, right, expression)
        case .intersect, .minus:
            let wanted = Predicate.Comparison(left: first, comparator: .isIn, right: second)
            guard let isThere = try inside(left).contains(left.typed, in: second, wanted) else {
                throw noSet(second, expression)
            }
            left.collection.filters.append(sets == .minus ? .not(isThere) : isThere)
            return distinct(left)
        }
    }

    /// Returns an equal set with unions outermost: `(a UNION b) MINUS c` becomes `(a MINUS c) UNION (b MINUS c)`.
    static func unionFirst(_ expression: Expression) -> Expression {
        guard let (sets, left, right) = expression.setOperation, sets != .union else { return expression }
        let first = unionFirst(left)
        guard case (.union, let one, let other)? = first.setOperation else {
            return .predefined(sets.rawValue, [first, right])
        }
        return .predefined(
            SetOperator.union.rawValue, [one, other].map { unionFirst(.predefined(sets.rawValue, [$0, right])) })
    }

    private func union(_ left: Members, _ right: Members, _ expression: Expression) throws(FerryError) -> Members {
        switch (left.value, right.value) {
        case (nil, nil):
            guard let entity = scope.model.commonAncestor(of: left.entity, right.entity) else {
                throw expression.error(
                    "combines objects of \(left.entity) and \(right.entity).",
                    remedy: "Combine their values, as in UNION($source.books.title, $source.films.title).")
            }
            return Members(collection: objects(of: entity, [left, right]), entity: entity)
        case (let first?, let second?):
            let isAlike =
                first.type == second.type || first.type.isInteger && second.type.isInteger
                || first.type.isText && second.type.isText
            guard isAlike else { throw mismatch(first.type.title, second, expression) }
            var united = left
            united.owner = nil
            united.collection = CollectionComputation(
                start: .values([left, right].flatMap(Self.parts)), level: scope.members.count,
                value: first.computation, isDistinct: true)
            return united
        default:
            throw expression.error("combines objects and values.", remedy: "Name an attribute of both, or of neither.")
        }
    }

    private func objects(of entity: String, _ parts: [Members]) -> CollectionComputation {
        CollectionComputation(
            start: .objects(of: entity, parts.flatMap(Self.parts)), level: scope.members.count)
    }

    /// Returns the collections of a union, each with its value or key; a union yields its own collections.
    private static func parts(_ members: Members) -> [CollectionComputation] {
        var collection = members.collection
        switch collection.start {
        case .objects(_, let parts) where collection.filters.isEmpty && members.value == nil: return parts
        case .values(let parts): return parts
        default:
            collection.value = members.typed.computation
            return [collection]
        }
    }

    private func noSet(_ operand: Expression, _ expression: Expression) -> FerryError {
        expression.error(
            "uses `\(operand)` as a collection, but it is not one.",
            remedy: "Name a to-many relationship, or write a list in braces.")
    }

    // MARK: Membership

    /// Whether a value is a member of a collection, a list, or a set of these; nil for any other expression.
    func contains(
        _ wanted: Typed, in operand: Expression, _ comparison: Predicate.Comparison
    ) throws(FerryError) -> Computation? {
        if let (sets, first, second) = operand.setOperation {
            guard let left = try contains(wanted, in: first, comparison) else { throw noSet(first, operand) }
            guard let right = try contains(wanted, in: second, comparison) else { throw noSet(second, operand) }
            switch sets {
            case .union: return .any([left, right])
            case .intersect: return .all([left, right])
            case .minus: return .all([left, .not(right)])
            }
        }
        if case .list(let elements) = operand {
            var conditions: [Computation] = []
            for element in elements { conditions.append(try equal(wanted, try value(element), comparison)) }
            return .any(conditions)
        }
        guard let members = try members(of: operand) else { return nil }
        return try exists(members, try equal(wanted, members.typed, comparison), operand)
    }

    // MARK: Lists

    /// A value of a list, and the condition under which the list contains it; nil for always.
    struct ListElement {
        var typed: Typed
        var condition: Computation?

        func and(_ other: Computation) -> Computation { condition.map { .all([$0, other]) } ?? other }
    }

    /// The limit of values in a set of lists: the statement compares each value with all before it.
    private static let setLimit = 40

    /// Returns the values of a list, or of a set of lists, with duplicates; nil for any other expression.
    func listElements(_ operand: Expression) throws(FerryError) -> [ListElement]? {
        if case .list(let elements) = operand {
            var values: [ListElement] = []
            for element in elements { values.append(ListElement(typed: try value(element))) }
            return values
        }
        guard let (sets, first, second) = operand.setOperation, var left = try listElements(first) else { return nil }
        if sets == .union {
            guard let right = try listElements(second) else { return nil }
            return left + right
        }
        let comparison = Predicate.Comparison(left: first, comparator: .isIn, right: second)
        for index in left.indices {
            guard let isThere = try contains(left[index].typed, in: second, comparison) else {
                throw noSet(second, operand)
            }
            left[index].condition = left[index].and(sets == .minus ? .not(isThere) : isThere)
        }
        return left
    }

    /// Translates `count:` and other aggregates of a set of lists.
    func aggregate(
        _ name: String, ofSet operand: Expression, _ expression: Expression
    ) throws(FerryError) -> Typed {
        guard var elements = try listElements(operand) else { throw noSet(operand, expression) }
        guard elements.count <= Self.setLimit else {
            throw expression.error(
                "makes a set of more than \(Self.setLimit) constants.", .unsupported,
                remedy: "Remove the duplicates and use a list instead.")
        }
        // Of equal values the first counts.
        let comparison = Predicate.Comparison(left: operand, comparator: .equal, right: operand)
        for (index, element) in elements.enumerated().reversed() {
            var earlier: [Computation] = []
            for other in elements[..<index] {
                earlier.append(other.and(try equal(other.typed, element.typed, comparison)))
            }
            elements[index].condition = element.and(.not(.any(earlier)))
        }
        var values = elements.map(\.typed)
        let function = name == "count" ? nil : try listFunction(name, of: &values, expression)
        let operands = zip(elements, values).map { element, value in
            let value = value.computation
            return element.condition.map { .operation(.choose, [$0, value, .constant(.null)]) } ?? value
        }
        return Typed(
            .call(ScalarFunction.setName(function?.aggregate), operands), function?.result ?? .attribute(.integer64))
    }

    // MARK: Elements

    /// Returns one member by its index, or a value behind keys of the member.
    func element(
        _ index: ElementIndex, of members: Members, _ steps: [KeyPathStep], _ expression: Expression
    ) throws(FerryError) -> Typed {
        guard let place = index.place else { return count(members) }
        guard !members.collection.isDistinct, members.collection.united.isEmpty else {
            throw expression.error(
                "uses an index on a set, which has no order.", .unsupported,
                remedy: "Use it on an ordered relationship, or use @min or @max.")
        }
        var members = members
        if !steps.isEmpty { members.value = try inside(members).value(.keyPath(.variable(Self.inner), steps)) }
        var collection = members.collection
        collection.aggregate = .element(place)
        collection.value = members.typed.computation
        return Typed(.collection(collection), members.typed.type)
    }
}

extension CollectionComputation {
    /// The number of nested subqueries, including those around the collection.
    var nesting: Int { level + queryDepth }

    fileprivate var queryDepth: Int {
        let inner = (filters + (value.map { [$0] } ?? [])).map(\.queryDepth)
        return 1 + ((inner + united.map(\.queryDepth)).max() ?? 0)
    }
}

extension Computation {
    fileprivate var queryDepth: Int {
        if case .collection(let collection) = self { collection.queryDepth } else { parts.map(\.queryDepth).max() ?? 0 }
    }
}

extension Expression {
    /// The operator and the two sides of a set operation; nil for any other expression.
    var setOperation: (SetOperator, Expression, Expression)? {
        guard case .predefined(let selector, let operands) = self, operands.count == 2,
            let sets = SetOperator(rawValue: selector)
        else { return nil }
        return (sets, operands[0], operands[1])
    }
}

extension ManagedObjectModel {
    fileprivate func commonAncestor(of first: String, _ second: String) -> String? {
        var entity: String? = first
        while let name = entity {
            if isKind(second, of: name) { return name }
            entity = entities[name]?.superentity
        }
        return nil
    }
}
