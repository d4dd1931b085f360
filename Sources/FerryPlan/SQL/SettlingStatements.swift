package import FerryBase
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// The statements that complete a stored relationship after its links.
///
/// Each statement is one unit over a table: it sets the other side of a one-to-one, or positions that links do not set.
package struct SettlingStatements {
    private let step: StepSQL
    private let assignment: RelationshipAssignment
    private let policies: PolicyEvidence

    package init(_ step: StepSQL, _ assignment: RelationshipAssignment, policies: PolicyEvidence) {
        (self.step, self.assignment, self.policies) = (step, assignment, policies)
    }

    package func statements() throws(FerryError) -> [BoundSQL] {
        switch assignment.storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var result = (assignment.isWrittenByBoth ? [] : mirroring(table, column, entityColumn)).map { BoundSQL($0) }
            if !result.isEmpty {
                let others = try others(table, column, entityColumn)
                result = clearedKeys(table, column, entityColumn) + result + (others.isEmpty ? [] : others + result)
            }
            if let orderColumn, !step.hasPolicies,
                !(assignment.contributions + contributionsOfInverse).allSatisfy(\.copiesOrder)
            {
                result.append(OrderKeys.number(orderColumn, of: table, key: "Z_PK", group: column, then: "Z_PK"))
            }
            return result + missingPositions()
        case .join, .inverseForeignKey: return missingPositions()
        case .inverseless: return []
        }
    }

    /// Settles a one-to-one, in which both sides hold a key; nothing if the other side has no key of its own.
    ///
    /// The filled side decides: of several objects with a key to one, the first stays related, and the keys of the
    /// others are cleared.
    private func mirroring(_ table: String, _ column: String, _ entityColumn: String?) -> [String] {
        guard case .foreignKey(let other, let otherColumn, let otherEntity, _)? = otherSide,
            other != table || otherColumn != column
        else { return [] }
        let number = otherEntity.map { ", \($0) = p.number" } ?? ""
        let isFree = isAfterOtherSide ? " AND \(other).\(otherColumn) IS NULL" : ""
        return [
            "UPDATE main.\(other) SET \(otherColumn) = p.k\(number) FROM (SELECT \(column) AS target, min(Z_PK) AS k, "
                + "Z_ENT AS number FROM main.\(table) WHERE \(column) IS NOT NULL GROUP BY \(column)) AS p "
                + "WHERE \(other).Z_PK = p.target\(isFree)",
            "UPDATE main.\(table) SET \([column, entityColumn].emptied) WHERE \(column) IS NOT NULL AND Z_PK IS NOT "
                + "(SELECT o.\(otherColumn) FROM main.\(other) AS o WHERE o.Z_PK = \(table).\(column))",
        ]
    }

    private var otherSide: RelationshipStorage? {
        assignment.relationship.inverseName.flatMap {
            step.destination.storage(of: $0, in: assignment.relationship.destinationEntity)
        }
    }

    /// Whether the other side, whose rules come later, was settled before: its links stay.
    private var isAfterOtherSide: Bool {
        let inverse = step.destination.model.inverseKey(of: assignment.relationship)
        return step.program.fills.relationships.prefix { $0.declared != assignment.declared }
            .contains { $0.declared == inverse }
    }

    /// The rules of the other side, for other entity mappings.
    private var contributionsOfInverse: [RelationshipContribution] {
        guard let inverse = step.destination.model.inverse(of: assignment.relationship) else { return [] }
        let others = step.program.fills.relationships.filter { other in
            other.relationship == inverse
                && step.destination.model.isKind(
                    other.declared.entity, of: assignment.relationship.destinationEntity)
        }
        return others.flatMap(\.contributions)
    }

    /// One statement for each copied order column with gaps, in a step without policies; missing positions are first.
    private func missingPositions() -> [BoundSQL] {
        let isDamaged = assignment.contributions.contains { contribution in
            guard contribution.copiesOrder, let origin = contribution.origin else { return false }
            return step.program.fills.damage.has(.missingOrder, origin.relationship, of: contribution.mapping.source)
        }
        guard isDamaged, !step.hasPolicies else { return [] }
        switch assignment.storage {
        case .foreignKey(let table, let column, _, let order?),
            .inverseForeignKey(let table, let column, _, let order?):
            return [OrderKeys.number(order, of: table, key: "Z_PK", group: column, then: "Z_PK", isForGaps: true)]
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            let orders = [(otherOrder, own, other), (ownOrder, other, own)]
            return orders.compactMap { order, group, member in
                order.map {
                    OrderKeys.number($0, of: table, key: "rowid", group: group, then: member, isForGaps: true)
                }
            }
        case .foreignKey, .inverseForeignKey, .inverseless: return []
        }
    }

    // MARK: One-to-one relationships with sides that differ in the source
    // Both sides hold a key, and one of them decides. Of several objects with one partner, the partner's own key
    // decides. A key of the other side also counts if neither of its two objects has another partner.

    /// The other side of the relationship in the source, if an entity mapping copies it unchanged.
    ///
    /// `others` are the mappings of the objects there that have the keys of their sources.
    private typealias Side = (
        mapping: ResolvedEntityMapping, others: [ResolvedEntityMapping], table: String, column: String
    )

    /// Whether a mapping's objects have the keys of their sources, with or without a policy.
    private func keepsPrimaryKeys(_ mapping: ResolvedEntityMapping) -> Bool {
        mapping.keepsPrimaryKey || policies.implied.contains(mapping.position)
    }

    private var sides: [Side] {
        // Values that a policy set are not repaired.
        guard !policies.isTouched(assignment.declared.property, of: assignment.declared.entity) else { return [] }
        // An object that `unique` finds may take the partner of another one.
        let resolved = step.plan.resolved
        let mayBeTaken = assignment.contributions.contains { contribution in
            let ends = [contribution.mapping] + contribution.rule.mappings.compactMap(resolved.entityMapping)
            return !ends.allSatisfy(\.unique.isEmpty)
        }
        return assignment.contributions.compactMap { contribution in
            let targets = contribution.rule.mappings.compactMap(resolved.entityMapping)
            let others = targets.filter(keepsPrimaryKeys)
            // Where one side holds the keys of a link, the two cannot differ.
            guard let relationship = contribution.origin?.relationship, !relationship.isToMany,
                contribution.rule.isAutomatic,
                keepsPrimaryKeys(contribution.mapping), !others.isEmpty,
                mayBeTaken
                    || step.program.fills.damage.has(.oneSidedInverse, relationship, of: contribution.mapping.source),
                let inverse = relationship.inverseName,
                case .foreignKey(let table, let column, _, _)? = step.source.storage(
                    of: inverse, in: relationship.destinationEntity)
            else { return nil }
            return (contribution.mapping, others, table, column)
        }
    }

    /// Sets a key to NULL if its target and a third object have each other's keys; runs before the other side is set.
    private func clearedKeys(_ table: String, _ column: String, _ entityColumn: String?) -> [BoundSQL] {
        var settled = ""
        if isAfterOtherSide, case .foreignKey(let other, let otherColumn, _, _)? = otherSide {
            settled = """
                 AND Z_PK IS NOT (SELECT t.\(otherColumn) FROM main.\(other) AS t WHERE t.Z_PK = \(table).\(column))
                """
        }
        var done: Set<String> = []
        return sides.filter { done.insert("\($0.table).\($0.column)").inserted }.map { side in
            BoundSQL(
                """
                UPDATE main.\(table) SET \([column, entityColumn].emptied) WHERE \(column) IS NOT NULL\(settled) AND EXISTS (
                    SELECT 1 FROM source.\(side.table) AS o
                    WHERE o.Z_PK = \(table).\(column) AND o.\(side.column) <> \(table).Z_PK AND o.Z_PK = (
                        SELECT x.\(column) FROM main.\(table) AS x WHERE x.Z_PK = o.\(side.column)))
                """)
        }
    }

    /// Sets the keys that only the other side has; runs after the side that decides.
    private func others(_ table: String, _ column: String, _ entityColumn: String?) throws(FerryError) -> [BoundSQL] {
        var statements: [BoundSQL] = []
        for side in sides {
            for other in side.others {
                var parameters = Parameters()
                let related = parameters.add(.integer(try step.destinationNumber(of: other)))
                let entity = entityColumn.map { ", \($0) = \(related)" } ?? ""
                let source = parameters.add(.integer(try step.sourceNumber(of: other)))
                let number = parameters.add(.integer(try step.destinationNumber(of: side.mapping)))
                let relatedTable = try step.destinationTable(of: other)
                let text = """
                    UPDATE main.\(table) SET \(column) = p.k\(entity) FROM (
                        SELECT o.\(side.column) AS target, min(o.Z_PK) AS k FROM source.\(side.table) AS o
                        JOIN main.\(relatedTable) AS r ON r.Z_PK = o.Z_PK AND r.Z_ENT = \(related)
                        WHERE o.\(side.column) IS NOT NULL AND o.Z_ENT = \(source)
                            AND o.Z_PK NOT IN (
                                SELECT \(column) FROM main.\(table) WHERE \(column) IS NOT NULL)
                        GROUP BY o.\(side.column)) AS p
                    WHERE \(table).Z_PK = p.target AND \(table).\(column) IS NULL
                        AND \(table).Z_ENT = \(number)
                    """
                statements.append(BoundSQL(text, parameters))
            }
        }
        return statements
    }
}

/// Positions in ordered relationships, as Core Data numbers them: 2048, then 1024 more for each.
package enum OrderKeys {
    private static let step: Int64 = 1024

    /// The position after the last one; nil on overflow.
    package static func next(after last: Int64?) -> Int64? {
        let (position, isTooHigh) = (last ?? step).addingReportingOverflow(step)
        return isTooHigh ? nil : position
    }

    /// SQL of the stored position for a place among the objects, from 1.
    package static func sql(place: String, parameters: inout Parameters) -> String {
        let step = parameters.add(.integer(step))
        return "\(step) + \(step) * \(place)"
    }

    /// Numbers the rows of each group, or only of groups in which a row has no position.
    ///
    /// `key` is the column that identifies a row.
    package static func number(
        _ column: String, of table: String, key: String, group: String, then last: String, isForGaps: Bool = false
    ) -> BoundSQL {
        var parameters = Parameters()
        let position = sql(place: "p.place", parameters: &parameters)
        let order = isForGaps ? "\(column), \(last)" : last
        let gap = isForGaps ? ", max(\(column) IS NULL) OVER (PARTITION BY \(group)) AS hasGap" : ""
        return BoundSQL(
            "UPDATE main.\(table) SET \(column) = \(position) FROM (SELECT \(key) AS k, "
                + "row_number() OVER (PARTITION BY \(group) ORDER BY \(order)) AS place\(gap) FROM main.\(table) "
                + "WHERE \(group) IS NOT NULL) AS p WHERE \(table).\(key) = p.k\(isForGaps ? " AND p.hasGap" : "")",
            parameters)
    }

    // MARK: Steps with policies

    // A policy may add objects to any relationship, or create several of one. At the end, statements set all positions
    // of a step with policies: by the copied positions, then objects without one.

    /// Marks a position that the source lacks: its object comes first.
    private static let beforeAll = DefaultValue.integer(.min)

    /// SQL that keeps a position of the source until the end of the phase.
    package static func noted(_ position: String, parameters: inout Parameters) -> String {
        "ifnull(\(position), \(parameters.add(beforeAll)))"
    }

    /// SQL for whether an earlier object of the group has the same position.
    package static func isShared(_ noted: String, among group: String) -> String {
        "\(noted) IS NOT NULL AND \(noted) IS lag(\(noted)) OVER (PARTITION BY \(group) ORDER BY \(noted))"
    }

    /// SQL of a final position: the copied one, or else a position after all copied ones.
    ///
    /// All objects of a group are numbered if one lacks its position in the source, or if two have the same one.
    ///
    /// `shared` is the column of ``isShared(_:among:)``, `group` the owner's key; `order` sorts missing and equal
    /// positions.
    package static func settled(
        _ noted: String, shared: String, among group: String, ordered order: String, parameters: inout Parameters
    ) -> String {
        let step = parameters.add(.integer(step))
        let first = parameters.add(beforeAll)
        let all = "OVER (PARTITION BY \(group))"
        let place = "row_number() OVER (PARTITION BY \(group) ORDER BY \(noted) IS NULL, \(noted), \(order))"
        let end = "row_number() OVER (PARTITION BY \(group) ORDER BY \(noted) IS NOT NULL, \(order))"
        return """
            CASE WHEN max(\(shared) OR \(noted) IS \(first)) \(all) THEN \(sql(place: place, parameters: &parameters))
            ELSE ifnull(\(noted), ifnull(max(\(noted)) \(all), \(step)) + \(step) * \(end)) END
            """
    }

    package static func settle(_ column: String, of table: String, among group: String) -> BoundSQL {
        var parameters = Parameters()
        let position = settled("noted", shared: "shared", among: "owner", ordered: "k", parameters: &parameters)
        return BoundSQL(
            """
            UPDATE main.\(table) AS t SET \(column) = p.place FROM (
                SELECT k, noted, \(position) AS place FROM (
                    SELECT Z_PK AS k, \(group) AS owner, \(column) AS noted, \(isShared(column, among: group)) AS shared
                    FROM main.\(table) WHERE \(group) IS NOT NULL)) AS p
            WHERE t.Z_PK = p.k AND p.place IS NOT p.noted
            """, parameters)
    }
}
