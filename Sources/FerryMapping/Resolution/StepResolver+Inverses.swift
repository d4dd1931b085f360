internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// A relationship and its inverse are stored once, so that one of two mappings of the same pair of objects must go.
extension StepResolver {
    /// One of a relationship's mappings, and the same pair of objects seen from the other side.
    private struct Sides {
        /// Positions in the step and names.
        var mapping: Int
        var relationship: Relationship
        var value: ResolvedRelationship
        var inverseMapping: Int
        var inverse: Relationship
        var inverseValue: ResolvedRelationship
    }

    /// Leaves every pair of objects with one relationship that sets it.
    ///
    /// Where both sides come to the same, the to-one side stays, since its key stands in the row; else the later one in
    /// Core Data's order wins, and a warning says so.
    mutating func settleInverses(in mappings: inout [ResolvedEntityMapping]) {
        let pairs = pairs(in: mappings)
        let first = Dictionary(pairs.map { (name($0.relationship, in: $0.mapping), $0.mapping) }, uniquingKeysWith: min)
        for sides in pairs {
            let comeToTheSame =
                sides.inverseValue.mappings.contains(mappings[sides.mapping].name) && mirror(sides)
            let isCode = (mappings[sides.mapping].policy != nil, mappings[sides.inverseMapping].policy != nil)
            if isCode.0 || isCode.1 {
                // Whether a policy sets its side only its code tells: the other side stays, whoever it is.
                guard comeToTheSame, isCode.0, !isCode.1 else { continue }
            } else if comeToTheSame {
                if stays(sides, first) { continue }
            } else {
                guard isInverseLater(sides) else { continue }
                let (first, last) = (mappings[sides.mapping], mappings[sides.inverseMapping])
                warnings.append(
                    FerryWarning(
                        .bothSidesMapped,
                        "\(first.destination).\(sides.relationship.name) (entity mapping \"\(first.name)\") and its inverse "
                            + "\(last.destination).\(sides.inverse.name) (entity mapping \"\(last.name)\") are both "
                            + "mapped, and not one as the other walked back; the later one, \(sides.inverse.name), wins.",
                        about: .init(
                            entity: first.destination, property: sides.relationship.name, entityMapping: first.name)))
                overruled.append(
                    OverruledRule(
                        source: first.source, rule: sides.value, inverse: "\(last.destination).\(sides.inverse.name)"))
            }
            mappings[sides.mapping].takeOut(mappings[sides.inverseMapping].name, of: sides.relationship.name)
        }
    }

    private func pairs(in mappings: [ResolvedEntityMapping]) -> [Sides] {
        let positions = Dictionary(mappings.map { ($0.name, $0.position) }, uniquingKeysWith: { first, _ in first })
        var pairs: [Sides] = []
        for mapping in mappings {
            for value in mapping.relationships {
                guard let relationship = destination.model.relationship(value.name, of: mapping.destination),
                    let inverse = destination.model.inverse(of: relationship)
                else { continue }
                for other in value.mappings.compactMap({ positions[$0] }) {
                    guard
                        let inverseValue = mappings[other].relationships.first(where: { $0.name == inverse.name }),
                        // A relationship that is its own inverse has no other side that could go.
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

    /// Whether both sides start from the same pairs of source objects: one path is the other one walked back.
    private func mirror(_ sides: Sides) -> Bool {
        guard let path = path(of: sides.value, in: sides.mapping),
            let inversePath = self.path(of: sides.inverseValue, in: sides.inverseMapping),
            path.start == .source, inversePath.start == .source
        else { return false }
        return path.hops.reversed().map(\.relationship.inverseName) == inversePath.hops.map(\.relationship.name)
    }

    private func path(of value: ResolvedRelationship, in mapping: Int) -> ResolvedPath? {
        do {
            return try ExpressionTranslation(scope: live[mapping].scope).path(toObjects: value.from)
        } catch {
            preconditionFailure("The path was checked when the relationship was resolved: \(error)")
        }
    }

    /// Whether, of two sides that come to the same, the relationship stays and its inverse goes.
    ///
    /// One side of a relationship stays in all mappings, so that its pairs are not scattered.
    private func stays(_ sides: Sides, _ first: [PropertyName: Int]) -> Bool {
        let (left, right) = (sides.relationship, sides.inverse)
        if left.isToMany != right.isToMany { return !left.isToMany }
        if left.isOrdered != right.isOrdered { return left.isOrdered }
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
    /// Takes another mapping from those whose objects a relationship leads to.
    fileprivate mutating func takeOut(_ other: String, of relationship: String) {
        guard let index = relationships.firstIndex(where: { $0.name == relationship }) else { return }
        relationships[index].mappings.removeAll { $0 == other }
        if relationships[index].mappings.isEmpty { relationships.remove(at: index) }
    }
}
