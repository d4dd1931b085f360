internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Rules for one side of a relationship, told from the other side.
///
/// Where two entity mappings make one object each of the same source object and relate these two, it is the same whose
/// rule says so. Then each side can write its own key with its own row.
struct OtherSide {
    let destination: StoreLayout
    let mappings: [String: ResolvedEntityMapping]

    /// The rules of the other side.
    ///
    /// - Parameter assignment: The rules that fill a relationship, all of them.
    /// - Returns: Its inverse and what fills that; nil where objects of one side may be related to several of the other.
    func rules(
        of assignment: RelationshipAssignments.Assignment
    ) -> (key: PropertyKey, rules: [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)])? {
        guard isReached(assignment), let name = assignment.relationship.inverseName,
            let entity = destination.model.declaringEntity(of: name, in: assignment.relationship.destinationEntity),
            PropertyKey(entity, name) != assignment.declared
        else { return nil }
        var rules: [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)] = []
        for contribution in assignment.contributions {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard rule.isOfSameObject, rule.mappings.count == 1, let other = mappings[rule.mappings[0]],
                mapping.isOneToOne, other.isOneToOne, other.source == mapping.source,
                !rules.contains(where: { $0.mapping.position == other.position })
            else { return nil }
            let back = ResolvedRelationship(name: name, mappings: [mapping.name], from: rule.from, isAutomatic: false)
            rules.append((other, back))
        }
        return (PropertyKey(entity, name), rules)
    }

    /// Whether the other side has a key to write: a one-to-one, or a to-many without an order, whose one object would
    /// need a position.
    private func isReached(_ assignment: RelationshipAssignments.Assignment) -> Bool {
        switch assignment.storage {
        case .foreignKey(let table, let column, _, _):
            guard let inverse = assignment.relationship.inverseName,
                case .foreignKey(let otherTable, let otherColumn, _, _)? = destination.storage(
                    of: inverse, in: assignment.relationship.destinationEntity)
            else { return false }
            return otherTable != table || otherColumn != column
        case .inverseForeignKey(_, _, _, let orderColumn): return orderColumn == nil
        case .join, .inverseless: return false
        }
    }
}
