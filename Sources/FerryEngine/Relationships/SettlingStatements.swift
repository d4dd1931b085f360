internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What is settled about a stored relationship once all its links are there.
///
/// That is the other side of a one-to-one, and positions that no link could know or that the source lacks. Each
/// statement is one unit over a whole table.
struct SettlingStatements {
    let context: StepContext
    let assignment: RelationshipAssignments.Assignment
    /// What policies did so far.
    let policies: PolicyEvidence

    func statements() throws(FerryError) -> [RowStatements.SQL] {
        switch assignment.storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var result =
                assignment.isWrittenByBoth
                ? [] : mirror(table: table, column: column, entityColumn: entityColumn)
            if !result.isEmpty {
                let healing = OneSidedInverses(context: context, assignment: assignment, policies: policies)
                let others = try healing.others()
                result = healing.agreed() + result + (others.isEmpty ? [] : others + result)
            }
            if let orderColumn, !context.step.resolved.hasPolicies, !isOrderCopied {
                result.append(positions(table: table, column: orderColumn, among: column))
            }
            return result + positionsThatTheSourceLacks
        case .join, .inverseForeignKey: return positionsThatTheSourceLacks
        case .inverseless: return []
        }
    }

    /// Beside policies all positions are settled together.
    private var positionsThatTheSourceLacks: [RowStatements.SQL] {
        guard !context.step.resolved.hasPolicies else { return [] }
        return MissingPositions(context: context, assignment: assignment).statements()
    }

    private var isOrderCopied: Bool { assignment.contributions.allSatisfy(\.copiesOrder) }

    /// Numbers the rows that share a value, in the order of their keys.
    private func positions(table: String, column: String, among group: String) -> RowStatements.SQL {
        var parameters = Parameters()
        let position = OrderKeys.sql(place: "p.place", parameters: &parameters)
        return RowStatements.SQL(
            text: """
                UPDATE main.\(table) SET \(column) = \(position) FROM (
                    SELECT Z_PK AS k, row_number() OVER (PARTITION BY \(group) ORDER BY Z_PK) AS place
                    FROM main.\(table) WHERE \(group) IS NOT NULL) AS p
                WHERE \(table).Z_PK = p.k
                """, parameters: parameters)
    }

    /// Both sides of a one-to-one hold a key: the side that was filled decides, and an object that was not chosen lets go.
    private func mirror(table: String, column: String, entityColumn: String?) -> [RowStatements.SQL] {
        let relationship = assignment.relationship
        guard let inverse = relationship.inverseName,
            case .foreignKey(let otherTable, let otherColumn, let otherEntity, _)? = context.destination.storage(
                of: inverse, in: relationship.destinationEntity),
            otherTable != table || otherColumn != column
        else { return [] }
        let number = otherEntity.map { ", \($0) = p.number" } ?? ""
        let letGo = [column, entityColumn].compactMap { $0 }.map { "\($0) = NULL" }.joined(separator: ", ")
        return [
            RowStatements.SQL(
                text: """
                    UPDATE main.\(otherTable) SET \(otherColumn) = p.k\(number) FROM (
                        SELECT \(column) AS target, min(Z_PK) AS k, Z_ENT AS number
                        FROM main.\(table) WHERE \(column) IS NOT NULL GROUP BY \(column)) AS p
                    WHERE \(otherTable).Z_PK = p.target
                    """, parameters: Parameters()),
            RowStatements.SQL(
                text: """
                    UPDATE main.\(table) SET \(letGo) WHERE \(column) IS NOT NULL AND Z_PK IS NOT
                        (SELECT o.\(otherColumn) FROM main.\(otherTable) AS o WHERE o.Z_PK = \(table).\(column))
                    """, parameters: Parameters()),
        ]
    }
}
