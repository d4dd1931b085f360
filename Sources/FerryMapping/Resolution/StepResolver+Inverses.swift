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
        var removals: [(mapping: Int, relationship: String, other: String)] = []
        for sides in pairs(in: mappings) {
            let comeToTheSame =
                sides.inverseValue.mappings.contains(mappings[sides.mapping].name) && mirror(sides, mappings)
            if comeToTheSame {
                if stays(sides, mappings) { continue }
            } else {
                guard isInverseLater(sides) else { continue }
                let (first, last) = (mappings[sides.mapping], mappings[sides.inverseMapping])
                warnings.append(
                    "\(first.destination).\(sides.relationship.name) (entity mapping \"\(first.name)\") and its inverse "
                        + "\(last.destination).\(sides.inverse.name) (entity mapping \"\(last.name)\") are both mapped, "
                        + "not to the same effect; the later one, \(sides.inverse.name), wins.")
            }
            removals.append((sides.mapping, sides.relationship.name, mappings[sides.inverseMapping].name))
        }
        for removal in removals {
            guard
                let index = mappings[removal.mapping].relationships.firstIndex(where: {
                    $0.name == removal.relationship
                })
            else { continue }
            mappings[removal.mapping].relationships[index].mappings.removeAll { $0 == removal.other }
            if mappings[removal.mapping].relationships[index].mappings.isEmpty {
                mappings[removal.mapping].relationships.remove(at: index)
            }
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
                        other != mapping.position || inverse.name != relationship.name
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

    /// Whether both sides start from the same pairs of source objects.
    private func mirror(_ sides: Sides, _ mappings: [ResolvedEntityMapping]) -> Bool {
        switch (sides.value.from, sides.inverseValue.from) {
        case (.variable("source"), .variable("source")): return true
        case (
            .keyPath(.variable("source"), let path), .keyPath(.variable("source"), let inversePath)
        ):
            guard case .key(let name)? = path.first, case .key(let inverseName)? = inversePath.first,
                path.count == 1, inversePath.count == 1,
                let relationship = source.model.relationship(name, of: mappings[sides.mapping].source)
            else { return false }
            return relationship.inverseName == inverseName
        default: return false
        }
    }

    /// Whether, of two sides that come to the same, the relationship stays and its inverse goes.
    private func stays(_ sides: Sides, _ mappings: [ResolvedEntityMapping]) -> Bool {
        let (left, right) = (sides.relationship, sides.inverse)
        if left.isToMany != right.isToMany { return !left.isToMany }
        if left.isOrdered != right.isOrdered { return left.isOrdered }
        return isInverseLater(sides)
    }

    /// Whether the inverse comes after the relationship in Core Data's order: by mapping, then by name.
    private func isInverseLater(_ sides: Sides) -> Bool {
        if sides.inverseMapping != sides.mapping { return sides.inverseMapping > sides.mapping }
        return codeUnitOrder(sides.relationship.name, sides.inverse.name)
    }
}
