internal import FerryBase
internal import FerryExpression

/// `keep`: which of several objects that become one stays.
///
/// An entity mapping that keeps another object than the first becomes two: one for the objects that stay, and after it
/// one for those that are merged into them. Both are ordinary mappings with a filter, so that planning, both executors
/// and verification treat them alike.
extension StepResolver {
    /// The mapping, or the two in its place; both are found by its name.
    mutating func separatingKept(_ mapping: LiveMapping) -> [LiveMapping] {
        guard mapping.mapping.keep != .first else { return [mapping] }
        guard mapping.policy == nil, let kept = condition(of: mapping) else {
            report(
                .unsupported, "\"keep\" cannot compare objects by a fetch, a subquery or a policy.", mapping,
                remedy: "Use \"where\", and attributes in \"unique\", that read the object's own values.")
            return [mapping]
        }
        var (first, rest) = (mapping, mapping)
        first.mapping.filter = all([mapping.mapping.filter, .comparison(kept)])
        rest.mapping.filter = all([mapping.mapping.filter, kept.opposite])
        rest.name = "\(mapping.name), merged"
        if mapping.mapping.filter == nil { (first.separatedFrom, rest.separatedFrom) = (mapping.name, mapping.name) }
        return [first, rest]
    }

    private func all(_ parts: [Predicate?]) -> Predicate? {
        let parts = parts.compactMap(\.self)
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    /// The condition of the objects that stay; nil if it cannot be put in words.
    private func condition(of mapping: LiveMapping) -> Predicate.Comparison? {
        let others = Expression.variable("kept")
        func ofOther(_ part: Expression) -> Expression? {
            part == .evaluatedObject || part == .variable("source") ? others : nil
        }
        var conditions: [Predicate] = []
        for name in mapping.mapping.unique {
            let own: Expression
            switch mapping.mapping.attributes[name] {
            case .value(let expression): own = expression
            case .automatic, nil: own = .keyPath(.variable("source"), [.key(name)])
            case .empty: return nil
            }
            guard own.isPlain else { return nil }
            let other = own.replacing(ofOther)
            conditions.append(compare(other, .equal, own.replacing(ofSource)))
            if !nilIsEqual(in: mapping) { conditions.append(compare(other, .notEqual, .constant(.null))) }
        }
        if let filter = mapping.mapping.filter {
            var isPlain = true
            let other = filter.replacing { part in
                if !part.isPlain { isPlain = false }
                return ofOther(part)
            }
            guard isPlain, !filter.isQuantified else { return nil }
            conditions.append(other)
        }
        let objects = Expression.fetch(entity: mapping.source, .constant(true))
        switch mapping.mapping.keep {
        case .first: return nil
        case .last:
            let equal = Expression.subquery(objects, variable: "kept", .and(conditions))
            return .init(left: .element(equal, .last), comparator: .equal, right: .variable("source"))
        case .newest(let value):
            guard value.isPlain else { return nil }
            let (own, other) = (value.replacing(ofSource), value.replacing(ofOther))
            conditions.append(
                .or([
                    compare(other, .greater, own),
                    .and([compare(own, .equal, .constant(.null)), compare(other, .notEqual, .constant(.null))]),
                ]))
            let newer = Expression.subquery(objects, variable: "kept", .and(conditions))
            return .init(
                left: .keyPath(newer, [.collectionOperator("count")]), comparator: .equal, right: .constant(.integer(0))
            )
        }
    }

    private func ofSource(_ part: Expression) -> Expression? { part == .evaluatedObject ? .variable("source") : nil }

    private func compare(
        _ left: Expression, _ comparator: Predicate.Comparison.Operator, _ right: Expression
    ) -> Predicate {
        .comparison(.init(left: left, comparator: comparator, right: right))
    }
}

extension Predicate.Comparison {
    fileprivate var opposite: Predicate {
        .comparison(.init(left: left, comparator: comparator == .equal ? .notEqual : .equal, right: right))
    }
}

extension Expression {
    /// Whether it reads an object's own values alone: a fetch or a subquery has variables of its own.
    fileprivate var isPlain: Bool {
        !contains { if case .fetch = $0 { true } else if case .subquery = $0 { true } else { false } }
    }
}

extension Predicate {
    fileprivate var isQuantified: Bool {
        switch self {
        case .constant, .comparison: false
        case .and(let parts), .or(let parts): parts.contains(where: \.isQuantified)
        case .not(let part): part.isQuantified
        case .quantified: true
        }
    }
}
