/// An equality in a condition on the members of a collection, by which an index finds the members that may match.
///
/// An index only narrows the members: the whole condition still decides.
package struct ValueEquality: Sendable, Hashable {
    /// The member itself, or a path of keys from it.
    package var member: Expression
    /// The other side, which is equal for all members.
    package var value: Expression

    /// Whether the value is equal for all source objects too, so that one scan finds the members for all of them.
    package var isConstant: Bool { if case .constant = value { true } else { false } }
}

extension Predicate {
    /// Returns the equalities that every member must meet which matches the condition.
    ///
    /// The equality is the whole condition, or a part of a conjunction. One side is a path of keys from the member; the
    /// caller checks in the model that it follows only to-one relationships to a stored attribute or an object. The
    /// other side does not contain the member: a path of keys from another object, or a constant but nil. Any other
    /// expression without a collection or a policy's code counts only as the first part of a conjunction, because its
    /// computation may fail: behind another part it is not computed for each source object.
    ///
    /// - Parameter member: `SELF` in `FETCH`, the variable of `SUBQUERY`, ``Expression/member`` in `ANY`.
    /// - Returns: The equalities in the order of the conjunction; empty if no index could narrow the members.
    package func equalities(of member: Expression) -> [ValueEquality] {
        conjuncts.enumerated().compactMap { place, part in
            guard case .comparison(let comparison) = part, comparison.comparator == .equal,
                comparison.options.allSatisfy({ $0 == "n" })
            else { return nil }
            let sides = [(comparison.left, comparison.right), (comparison.right, comparison.left)]
            for (path, value) in sides where path.isKeys(of: member) && !value.mentions(member) {
                if value.isPlain || place == 0 && value.isComputed {
                    return ValueEquality(member: path, value: value)
                }
            }
            return nil
        }
    }

    /// The parts that must all hold, in the order of their evaluation.
    package var conjuncts: [Predicate] {
        switch self {
        case .and(let parts): parts.flatMap(\.conjuncts)
        case .not(.not(let part)): part.conjuncts
        case .constant(true): []
        default: [self]
        }
    }

    /// Whether a part reads the object that the expression names, and not an inner object of the same name.
    fileprivate func mentions(_ object: Expression) -> Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison): comparison.left.mentions(object) || comparison.right.mentions(object)
        case .and(let parts), .or(let parts): parts.contains { $0.mentions(object) }
        case .not(let part): part.mentions(object)
        case .quantified(_, let collection, let condition):
            collection.mentions(object) || object != .member && condition.mentions(object)
        }
    }
}

extension Expression {
    /// Whether the expression is the object, or a path of keys from it.
    fileprivate func isKeys(of object: Expression) -> Bool {
        if self == object { return true }
        guard case .keyPath(let base, let steps) = self else { return false }
        return base == object && steps.keys != nil
    }

    /// Whether the expression reads the object, and not an inner object of the same name.
    package func mentions(_ object: Expression) -> Bool {
        switch self {
        case .evaluatedObject, .variable: self == object
        case .fetch(_, let condition): object != .evaluatedObject && condition.mentions(object)
        case .subquery(let collection, let variable, let condition):
            collection.mentions(object) || object != .variable(variable) && condition.mentions(object)
        case .ternary(let condition, let value, let other):
            condition.mentions(object) || value.mentions(object) || other.mentions(object)
        default: parts.contains { $0.mentions(object) }
        }
    }

    /// Whether the value is written down, or at the end of a path of keys from an object.
    fileprivate var isPlain: Bool {
        switch self {
        case .constant(let constant): constant != .null
        case .evaluatedObject: true
        case .variable(let name): name != "entityPolicy"
        case .keyPath(let base, let steps): base.isObject && base.isPlain && steps.keys != nil
        default: false
        }
    }

    /// Whether the value is computed from plain values by functions alone.
    fileprivate var isComputed: Bool {
        switch self {
        case .predefined(let selector, let operands):
            !selector.hasPrefix("random") && SetOperator(rawValue: selector) == nil
                && operands.allSatisfy { $0.isPlain || $0.isComputed }
        case .ifNil(let value, let substitute):
            [value, substitute].allSatisfy { $0.isPlain || $0.isComputed }
        case .function(let receiver, _, let arguments):
            receiver != .variable("entityPolicy")
                && ([receiver] + arguments).allSatisfy { $0.isPlain || $0.isComputed }
        default: false
        }
    }
}

/// The translated form of ``ValueEquality``, with the rule of ``Predicate/equalities(of:)``.
package struct MemberEquality: Sendable, Hashable {
    /// The path of the member, over to-one relationships.
    package var member: ResolvedPath
    /// The other side, which is equal for all members.
    package var value: Computation
    /// Whether the computation of the value may fail: it must not run where there is no member.
    package var mayFail: Bool
}

extension CollectionComputation {
    /// The equalities that all members meet; empty if an index could not narrow the members for each source object.
    ///
    /// An index is of use for the objects of an entity that differ by source object: other collections are read once,
    /// or begin at the links of one object.
    package var equalities: [MemberEquality] {
        guard case .entity = start, hops.isEmpty else { return [] }
        var found: [MemberEquality] = []
        for (place, part) in filters.flatMap(\.conjuncts).enumerated() {
            guard let (left, right) = part.comparedSides else { continue }
            for (side, value) in [(left, right), (right, left)] {
                guard case .column(let path) = side, path.start == .member(level), path.isIndexed, !value.reads(level)
                else { continue }
                guard value.isPlain || place == 0 && value.isComputed else { continue }
                found.append(MemberEquality(member: path, value: value, mayFail: !value.isPlain))
                break
            }
        }
        return found.contains { !$0.value.isConstant } ? found : []
    }

    /// Whether other members are read for each source object, or for each member of an outer collection.
    package var isCorrelated: Bool { filters.contains { $0.readsOutside(of: level) } }
}

extension ResolvedPath {
    /// Whether an index can hold the value at the end; the key of the member itself needs none.
    fileprivate var isIndexed: Bool {
        guard !isToMany, valueKeys.isEmpty, aggregate == nil else { return false }
        switch end {
        case .attribute: return true
        case .object: return !hops.isEmpty
        case .json: return false
        }
    }
}

extension Computation {
    /// The parts that must all hold, in the order of their evaluation.
    fileprivate var conjuncts: [Computation] {
        switch self {
        case .operation(.all, let parts): parts.flatMap(\.conjuncts)
        case .operation(.not, let parts):
            if case .operation(.not, let inner) = parts[0] { inner[0].conjuncts } else { [self] }
        case .parameter(.constant(.boolean(true))): []
        default: [self]
        }
    }

    /// The sides of an equality in which two nils are equal, and text has no options.
    fileprivate var comparedSides: (Computation, Computation)? {
        switch self {
        case .operation(.same, let sides), .call("ferry_equal", let sides): (sides[0], sides[1])
        default: nil
        }
    }

    fileprivate func reads(_ level: Int) -> Bool {
        if case .column(let path) = self { return path.start == .member(level) }
        return parts.contains { $0.reads(level) }
    }

    /// Whether the value depends on an object outside of a collection's condition.
    fileprivate func readsOutside(of level: Int) -> Bool {
        switch self {
        case .column(let path): if case .member(let other) = path.start { other < level } else { true }
        case .elementText: true
        case .collection(let inner):
            if case .object(let path) = inner.start, Computation.column(path).readsOutside(of: level) {
                true
            } else {
                inner.parts.contains { $0.readsOutside(of: level) }
                    || inner.united.contains { Computation.collection($0).readsOutside(of: level) }
            }
        default: parts.contains { $0.readsOutside(of: level) }
        }
    }

    fileprivate var isPlain: Bool {
        switch self {
        case .column, .elementText: true
        case .parameter(let value): value != .constant(.null)
        default: elementKeys != nil
        }
    }

    fileprivate var isComputed: Bool {
        switch self {
        case .call(let name, let parts):
            !name.hasPrefix("ferry_random") && parts.allSatisfy { $0.isPlain || $0.isComputed }
        case .operation(_, let parts): parts.allSatisfy { $0.isPlain || $0.isComputed }
        case .parameter(.constant(.null)): true
        default: false
        }
    }

    fileprivate var isConstant: Bool {
        switch self {
        case .column, .elementText, .collection: false
        default: parts.allSatisfy(\.isConstant)
        }
    }
}
