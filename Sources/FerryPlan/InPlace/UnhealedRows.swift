package import FerryBase
internal import FerryModel
package import FerryStore

extension TableMoves {
    /// Returns the refusal to keep rows of unknown entities, or nil.
    ///
    /// The rows can stay if their table stays and none of its new entities gets one of their `numbers`, `Z_ENT`.
    package func refusal(
        toKeep rows: Int64, of numbers: [Int64], in table: EntityTable, into destination: StoreLayout
    ) -> FerryError? {
        let continuation = tables.first { $0.kept?.name == table.name }?.destination
        guard continuation.map({ Set(destination.numbers(ofFamily: $0.root)).isDisjoint(with: numbers) }) != true else {
            return nil
        }
        let reason =
            continuation == nil
            ? "the table is recreated or dropped, and the new one cannot hold them"
            : "their number belongs to another entity in the new version"
        return FerryError(
            .damagedSource,
            "\(rows.counting("row")) in the table of \(table.root) \(rows == 1 ? "has" : "have") a Z_ENT of an entity that is not in that table, and "
                + "cannot be kept: \(reason).",
            remedy: "Leave them out with \(setting: .damaged, .choice("drop")), or repair them with the app.",
            place: .init(entity: table.root))
    }
}

extension StoreLayout {
    /// The condition of rows whose `Z_ENT` is the number of no entity of the table.
    package func isOfUnknownEntity(in table: EntityTable) -> String {
        "Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers(ofFamily: table.root).sqlList))"
    }

    /// Statements that correct the entity numbers beside foreign keys, which every renumbering reads.
    ///
    /// `damage` has the findings of a scan; nil without a scan, for all keys.
    package func entityColumnRepairs(_ damage: [StoreDamage]?) -> [String] {
        relationshipStorage.inOrder { $0.key < $1.key }.compactMap { key, storage in
            let isWrong = damage.map { damage in
                damage.contains { $0.kind == .wrongEntity && PropertyKey($0.entity, $0.property ?? "") == key }
            }
            guard case .foreignKey(let table, let column, let entityColumn?, _) = storage, isWrong ?? true,
                let relationship = model.relationship(key.property, of: key.entity),
                let target = self.table(of: relationship.destinationEntity)
            else { return nil }
            let owners = isKind("\(table).", of: key.entity).map { " AND \($0)" } ?? ""
            return """
                UPDATE \(table) SET \(entityColumn) = t.Z_ENT FROM \(target.name) AS t
                WHERE t.Z_PK = \(table).\(column) AND \(numbers(ofFamily: relationship.destinationEntity).rowCondition("t."))
                    AND \(table).\(entityColumn) IS NOT t.Z_ENT\(owners)
                """
        }
    }
}
