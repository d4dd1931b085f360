/// An equality that every member of a collection meets, by which an index finds the members that may match.
///
/// An index only narrows the members: the whole condition still decides.
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
    ///
    /// An equality is a whole condition, or a part of a conjunction. One side is a path of to-one relationships from the
    /// member to a stored attribute or an object. The other side does not read the member: a path from another object,
    /// or a constant but nil. Any other value without a collection or a policy's code counts only as the first part of a
    /// conjunction, because its computation may fail: behind another part it is not computed for each source object.
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
        guard !isToMany, valueKeys.isEmpty else { return false }
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
        case .elementText, .elementPosition: true
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
        case .column, .elementText, .elementPosition: true
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
        case .column, .elementText, .elementPosition, .collection: false
        default: parts.allSatisfy(\.isConstant)
        }
    }
}
