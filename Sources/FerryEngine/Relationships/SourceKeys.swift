internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// What a look at the source's foreign keys tells before its rows are read.
///
/// Where every key of a relationship leads to a row, and every such row is carried with its key, the key can be copied
/// without looking the row up again. Keys that lead nowhere become NULL and are counted.
struct SourceKeys {
    /// One relationship as one entity mapping fills it.
    struct Place: Hashable {
        var mapping: Int
        var relationship: String
    }

    /// The columns whose keys are copied as they are.
    private(set) var copied: [Place: String] = [:]
    private(set) var dangling: [(entity: String, rows: Int64)] = []

    init(
        _ assignments: RelationshipAssignments, mappings: [ResolvedEntityMapping], source: StoreLayout,
        on connection: Connection
    ) throws(DatabaseError) {
        var counted: [PropertyKey: Int64] = [:]
        for assignment in assignments.assignments {
            for contribution in assignment.contributions {
                let mapping = contribution.mapping
                guard let name = Self.onlyRelationship(of: contribution.rule.from),
                    let declaring = source.model.declaringEntity(of: name, in: mapping.source),
                    let relationship = source.model.relationship(name, of: mapping.source),
                    case .foreignKey(let table, let column, _, _)? = source.storage(of: name, in: mapping.source),
                    let target = source.table(of: relationship.destinationEntity)
                else { continue }
                let key = PropertyKey(declaring, name)
                let rows: Int64
                if let known = counted[key] {
                    rows = known
                } else {
                    // Only the column is read, so that its index gives the keys in order, and the rows they lead to
                    // are met in order too.
                    rows =
                        try connection.integer(
                            """
                            SELECT count(*) FROM source.\(table) AS s WHERE s.\(column) IS NOT NULL
                            AND NOT EXISTS (SELECT 1 FROM source.\(target.name) AS t WHERE t.Z_PK = s.\(column))
                            """) ?? 0
                    counted[key] = rows
                    if rows > 0 { dangling.append((declaring, rows)) }
                }
                if rows == 0, contribution.isInline,
                    Self.isEveryTargetCarried(
                        contribution, of: relationship, assignment, mappings: mappings, model: source.model)
                {
                    copied[Place(mapping: mapping.position, relationship: contribution.rule.name)] = column
                }
            }
        }
    }

    /// The relationship of a path that is `$source` and one relationship.
    private static func onlyRelationship(of from: Expression) -> String? {
        guard case .keyPath(.variable("source"), let steps) = from, steps.count == 1, case .key(let name) = steps[0]
        else { return nil }
        return name
    }

    private static func isEveryTargetCarried(
        _ contribution: RelationshipAssignments.Contribution, of relationship: Relationship,
        _ assignment: RelationshipAssignments.Assignment, mappings: [ResolvedEntityMapping],
        model: ManagedObjectModel
    ) -> Bool {
        guard case .foreignKey(_, _, let entityColumn, _) = assignment.storage else { return false }
        let carrying = mappings.filter { contribution.rule.mappings.contains($0.name) }
        // With several targets only the row itself tells which of them it is.
        guard entityColumn == nil || carrying.count == 1,
            carrying.allSatisfy({ $0.keepsPrimaryKey && $0.filter == nil })
        else { return false }
        let carried = Set(carrying.map(\.source))
        return model.family(of: relationship.destinationEntity).allSatisfy { name in
            carried.contains(name) || model.entities[name]?.isAbstract == true
        }
    }
}
