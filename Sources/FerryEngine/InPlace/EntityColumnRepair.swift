internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Sets the numbers of entities beside keys right where they are not those of the rows to which the keys lead.
///
/// Every renumbering reads them, so that a wrong one would come to mean anything.
struct EntityColumnRepair {
    let source: StoreLayout
    /// What a scan has found; nil when there was none.
    let damage: [StoreDamage]?
    let connection: Connection

    func run() throws {
        try connection.withoutTriggers {
            for (key, storage) in source.relationshipStorage.sorted(by: { $0.key < $1.key }) {
                guard case .foreignKey(let table, let column, let entityColumn?, _) = storage, isWrong(key),
                    let relationship = source.model.relationship(key.property, of: key.entity),
                    let target = source.table(of: relationship.destinationEntity)
                else { continue }
                let family = source.model.family(of: relationship.destinationEntity)
                    .compactMap { source.number(of: $0) }.sorted().sqlList
                try connection.execute(
                    """
                    UPDATE \(table) SET \(entityColumn) = t.Z_ENT FROM \(target.name) AS t
                    WHERE t.Z_PK = \(table).\(column) AND t.Z_ENT IN (\(family))
                        AND \(table).\(entityColumn) IS NOT t.Z_ENT
                    """)
            }
        }
    }

    private func isWrong(_ key: PropertyKey) -> Bool {
        guard let damage else { return true }
        return damage.contains { $0.kind == .wrongEntity && PropertyKey($0.entity, $0.property ?? "") == key }
    }
}
