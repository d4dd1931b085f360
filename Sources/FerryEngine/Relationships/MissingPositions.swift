internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// Gives every object its position in an ordered relationship where the source lacks some.
///
/// An object without a position comes first, as Core Data shows it; groups that are complete keep theirs.
struct MissingPositions {
    let context: StepContext
    let assignment: RelationshipAssignments.Assignment

    /// One statement for each column of positions that is taken over with gaps.
    func statements() -> [RowStatements.SQL] {
        let isDamaged = assignment.contributions.contains { contribution in
            contribution.copiesOrder
                && context.sourceKeys.has(
                    .missingOrder, contribution.rule.sourceRelationship ?? contribution.rule.name,
                    of: contribution.mapping.source)
        }
        guard isDamaged else { return [] }
        switch assignment.storage {
        case .foreignKey(let table, let column, _, let order?),
            .inverseForeignKey(let table, let column, _, let order?):
            return [number(order, of: table, key: "Z_PK", group: column, then: "Z_PK")]
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            let orders = [(otherOrder, own, other), (ownOrder, other, own)]
            return orders.compactMap { order, group, member in
                order.map { number($0, of: table, key: "rowid", group: group, then: member) }
            }
        case .foreignKey, .inverseForeignKey, .inverseless: return []
        }
    }

    private func number(
        _ column: String, of table: String, key: String, group: String, then last: String
    ) -> RowStatements.SQL {
        var parameters = Parameters()
        let position = OrderKeys.sql(place: "p.place", parameters: &parameters)
        return RowStatements.SQL(
            text: """
                UPDATE main.\(table) SET \(column) = \(position) FROM (
                    SELECT \(key) AS k, row_number() OVER (PARTITION BY \(group) ORDER BY \(column), \(last)) AS place,
                        max(\(column) IS NULL) OVER (PARTITION BY \(group)) AS isDamaged
                    FROM main.\(table) WHERE \(group) IS NOT NULL) AS p
                WHERE \(table).\(key) = p.k AND p.isDamaged
                """, parameters: parameters)
    }
}
