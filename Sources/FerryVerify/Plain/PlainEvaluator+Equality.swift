internal import FerryExpression

/// Fetches of which a look-up of equal values leaves only a few objects to evaluate.
///
/// The look-up only narrows: every condition is still evaluated on each object that it leaves.
extension PlainEvaluator {
    /// An attribute or a to-one relationship of an element, and a value that it must equal.
    package struct Equality {
        var name: String
        var value: PlainValue
        var options: String
    }

    /// Calls the body with each object of a fetch, and of the subquery around it, for which the conditions hold.
    ///
    /// The body itself evaluates the given equality.
    func eachFetched(
        _ entity: String, _ condition: Predicate, of subquery: (name: String, condition: Predicate)? = nil,
        meeting equality: Equality? = nil, in scope: PlainScope, _ body: PlainVisitor
    ) throws {
        func pass(_ object: PlainObject) throws {
            var inside = scope
            inside.members.append((nil, .object(object)))
            guard try holds(condition, in: inside) else { return }
            if let subquery {
                inside = scope
                inside.members.append((subquery.name, .object(object)))
                guard try holds(subquery.condition, in: inside) else { return }
            }
            try body(.object(object))
        }
        var known = equality.map { [$0] } ?? []
        known += try equalities(in: condition, of: .evaluatedObject, scope)
        if let subquery { known += try equalities(in: subquery.condition, of: .variable(subquery.name), scope) }
        for equality in known where try objects.eachObject(of: entity, meeting: equality, pass) { return }
        try objects.eachObject(of: entity, pass)
    }

    /// Calls the body with the members of a collection; a look-up may leave out some that do not meet a condition.
    func eachMember(
        of collection: Expression, meeting condition: Predicate?, as element: Expression, in scope: PlainScope,
        _ body: PlainVisitor
    ) throws {
        var (base, steps) = (collection, [KeyPathStep]())
        if case .keyPath(let path, let keys) = collection { (base, steps) = (path, keys) }
        let subquery: (String, Predicate)?
        if case .subquery(let fetch, let name, let condition) = base {
            (base, subquery) = (fetch, (name, condition))
        } else {
            subquery = nil
        }
        guard let condition, case .fetch(let entity, let fetched) = base,
            let equality = try equalities(in: condition, of: element, after: steps, scope).first
        else {
            _ = try eachMember(of: collection, in: scope, body)
            return
        }
        let members = PlainVisitor { try body(try follow(steps[...], from: $0)) }
        try eachFetched(entity, fetched, of: subquery, meeting: equality, in: scope, members)
    }

    /// The equalities among the parts of a condition that must all hold, between a key of the element and an
    /// expression without it.
    private func equalities(
        in condition: Predicate, of element: Expression, after steps: [KeyPathStep] = [], _ scope: PlainScope
    ) throws -> [Equality] {
        switch condition {
        case .and(let parts): return try parts.flatMap { try equalities(in: $0, of: element, after: steps, scope) }
        case .comparison(let comparison) where comparison.comparator == .equal && !comparison.options.contains("l"):
            for (path, other) in [(comparison.left, comparison.right), (comparison.right, comparison.left)] {
                let keys: [KeyPathStep]
                if path == element {
                    keys = steps
                } else if case .keyPath(element, let rest) = path {
                    keys = steps + rest
                } else {
                    continue
                }
                guard keys.count == 1, case .key(let name) = keys[0], other != .constant(.null),
                    !other.contains(where: { $0 == element }), !isCollection(other, in: scope)
                else { continue }
                do {
                    return [
                        Equality(name: name, value: try value(of: other, in: scope).plain, options: comparison.options)
                    ]
                } catch is PlainFailure {
                    // Fails, or not, for each object in the order in which the condition is evaluated.
                    continue
                }
            }
            return []
        default: return []
        }
    }
}

extension PlainValue {
    /// A number that is the same for values that are equal under the options of a comparison.
    ///
    /// Numbers count as doubles: integers that round to the same double are not equal, but have the same number.
    func equalityHash(options: String) -> Int64 {
        var hasher = Hasher()
        let value = plain
        switch value {
        case .null: hasher.combine(0)
        case .boolean, .integer, .real:
            hasher.combine(1)
            hasher.combine(PlainNumber(value)?.real ?? 0)
        case .text(let bytes):
            hasher.combine(2)
            let isFolded = options.contains("c") || options.contains("d")
            hasher.combine(isFolded ? PlainPatterns.folded(bytes, options: options) : bytes)
        case .blob(let bytes):
            hasher.combine(3)
            hasher.combine(bytes)
        case .object(let object):
            hasher.combine(4)
            hasher.combine(object)
        // `plain` decodes JSON.
        case .json: hasher.combine(5)
        }
        return Int64(hasher.finalize())
    }
}
