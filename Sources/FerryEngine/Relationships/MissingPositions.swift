internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Gives every object its position in an ordered relationship where the source lacks some.
///
/// Who has no position comes first, as Core Data shows it; groups that are complete keep theirs. What a policy adds comes
/// last instead.
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
            return [number(order, of: "main.\(table)", key: "Z_PK", group: column, then: "Z_PK")]
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            let orders: [(order: String?, group: String, member: String)]
            var place = "main.\(table)"
            if context.step.resolved.hasPolicies,
                let gathered = context.assignments.gathered.first(where: { $0.name == table })
            {
                place = ScratchDatabase.links(of: gathered)
                orders = [
                    (gathered.secondOrderColumn.map { _ in "secondOrder" }, "first", "second"),
                    (gathered.firstOrderColumn.map { _ in "firstOrder" }, "second", "first"),
                ]
            } else {
                orders = [(otherOrder, own, other), (ownOrder, other, own)]
            }
            return orders.compactMap { order, group, member in
                order.map { number($0, of: place, key: "rowid", group: group, then: member) }
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
                UPDATE \(table) AS t SET \(column) = \(position) FROM (
                    SELECT \(key) AS k, row_number() OVER (PARTITION BY \(group) ORDER BY \(column), \(last)) AS place,
                        max(\(column) IS NULL) OVER (PARTITION BY \(group)) AS isDamaged
                    FROM \(table) WHERE \(group) IS NOT NULL) AS p
                WHERE t.\(key) = p.k AND p.isDamaged
                """, parameters: parameters)
    }

    /// Gives a position to the rows that have none, after those that have one: policies put them there.
    static func appended(table: String, column: String, among group: String) -> RowStatements.SQL {
        var parameters = Parameters()
        let position = OrderKeys.appended(to: column, among: group, ordered: "Z_PK", parameters: &parameters)
        return RowStatements.SQL(
            text: """
                UPDATE main.\(table) SET \(column) = p.place FROM (
                    SELECT Z_PK AS k, \(position) AS place FROM main.\(table) WHERE \(group) IS NOT NULL) AS p
                WHERE \(table).Z_PK = p.k AND \(table).\(column) IS NULL
                """, parameters: parameters)
    }
}
