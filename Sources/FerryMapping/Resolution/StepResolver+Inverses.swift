internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// A relationship and its inverse are stored once, so of two rules for one pair of objects one is dropped.
extension StepResolver {
    /// A relationship's rule for one target mapping, with the inverse's rule for the same pair.
    private struct Sides {
        /// The position in the step.
        var mapping: Int
        var relationship: Relationship
        var value: ResolvedRelationship
        var inverseMapping: Int
        var inverse: Relationship
        var inverseValue: ResolvedRelationship
    }

    /// Leaves one rule for every pair of objects.
    ///
    /// Of equivalent sides the one that is to-one, or takes its objects from a to-one, stays: its row has the key. Else the
    /// later side in Core Data's order wins.
    mutating func settleInverses(in mappings: inout [ResolvedEntityMapping]) {
        let pairs = pairs(in: mappings)
        let first = Dictionary(pairs.map { (name($0.relationship, in: $0.mapping), $0.mapping) }, uniquingKeysWith: min)
        for sides in pairs {
            let areEquivalent =
                sides.inverseValue.mappings.contains(mappings[sides.mapping].name) && mirror(sides)
            let isCode = (mappings[sides.mapping].policy != nil, mappings[sides.inverseMapping].policy != nil)
            if isCode.0 || isCode.1 {
                // Only a policy's code tells whether it sets its side, so the other side stays.
                guard areEquivalent, isCode.0, !isCode.1 else { continue }
            } else if areEquivalent {
                if stays(sides, first) { continue }
            } else {
                guard isInverseLater(sides) else { continue }
                let (first, last) = (mappings[sides.mapping], mappings[sides.inverseMapping])
                warnings.append(
                    FerryWarning(
                        .bothSidesMapped,
                        "\(first.destination).\(sides.relationship.name) (entity mapping \"\(first.name)\") and its inverse "
                            + "\(last.destination).\(sides.inverse.name) (entity mapping \"\(last.name)\") are both "
                            + "mapped, and neither is the inverse of the other; the later one, \(sides.inverse.name), wins.",
                        about: .init(
                            entity: first.destination, property: sides.relationship.name, entityMapping: first.name)))
                overruled.append(
                    OverruledRule(
                        source: first.source, mapping: first.name, target: last.name, rule: sides.value,
                        inverse: "\(last.destination).\(sides.inverse.name)"))
            }
            mappings[sides.mapping] = mappings[sides.mapping].without(
                mappings[sides.inverseMapping].name, in: sides.relationship.name)
        }
    }

    private func pairs(in mappings: [ResolvedEntityMapping]) -> [Sides] {
        let positions = Dictionary(first: mappings.map { ($0.name, $0.position) })
        var pairs: [Sides] = []
        for mapping in mappings {
            for value in mapping.relationships {
                guard let relationship = destination.model.relationship(value.name, of: mapping.destination),
                    let inverse = destination.model.inverse(of: relationship)
                else { continue }
                for other in value.mappings.compactMap({ positions[$0] }) {
                    guard
                        let inverseValue = mappings[other].relationships.first(where: { $0.name == inverse.name }),
                        // A relationship that is its own inverse has no other side.
                        name(relationship, in: mapping.position) != name(inverse, in: other)
                    else { continue }
                    pairs.append(
                        Sides(
                            mapping: mapping.position, relationship: relationship, value: value, inverseMapping: other,
                            inverse: inverse, inverseValue: inverseValue))
                }
            }
        }
        return pairs
    }

    /// Whether both sides relate the same source objects: one path is the other one reversed.
    private func mirror(_ sides: Sides) -> Bool {
        let (path, inversePath) = paths(of: sides)
        guard path.start == .source, inversePath.start == .source else { return false }
        return path.hops.reversed().map(\.relationship.inverseName) == inversePath.hops.map(\.relationship.name)
    }

    private func paths(of sides: Sides) -> (own: ResolvedPath, inverse: ResolvedPath) {
        (path(of: sides.value, in: sides.mapping), path(of: sides.inverseValue, in: sides.inverseMapping))
    }

    private func path(of value: ResolvedRelationship, in mapping: Int) -> ResolvedPath {
        do {
            return try ExpressionTranslation(scope: live[mapping].scope).path(toObjects: value.from)
        } catch {
            preconditionFailure("The path was checked when the relationship was resolved: \(error)")
        }
    }

    /// Whether, of two equivalent sides, the relationship stays in all mappings and its inverse is dropped.
    private func stays(_ sides: Sides, _ first: [PropertyName: Int]) -> Bool {
        let (left, right) = (sides.relationship, sides.inverse)
        if left.isToMany != right.isToMany { return !left.isToMany }
        if left.isOrdered != right.isOrdered { return left.isOrdered }
        let (path, inversePath) = paths(of: sides)
        if path.isToMany != inversePath.isToMany { return inversePath.isToMany }
        let positions = (first[name(left, in: sides.mapping)], first[name(right, in: sides.inverseMapping)])
        if let left = positions.0, let right = positions.1, left != right { return left < right }
        return codeUnitOrder(left.name, right.name)
    }

    private func name(_ relationship: Relationship, in mapping: Int) -> PropertyName {
        let entity = live[mapping].destination
        return PropertyName(
            entity: destination.model.declaringEntity(of: relationship.name, in: entity) ?? entity,
            property: relationship.name)
    }

    /// Whether the inverse comes after the relationship in Core Data's order: by mapping, then by name.
    private func isInverseLater(_ sides: Sides) -> Bool {
        if sides.inverseMapping != sides.mapping { return sides.inverseMapping > sides.mapping }
        return codeUnitOrder(sides.relationship.name, sides.inverse.name)
    }
}

extension ResolvedEntityMapping {
    /// The entity mapping that does not relate its objects to those of another one.
    fileprivate func without(_ other: String, in relationship: String) -> ResolvedEntityMapping {
        with(
            relationships: relationships.compactMap { rule in
                guard rule.name == relationship else { return rule }
                var rule = rule
                rule.mappings.removeAll { $0 == other }
                return rule.mappings.isEmpty ? nil : rule
            })
    }
}
