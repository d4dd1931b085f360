package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

/// Rows that no rule repairs, with the statements that delete them and the links to them before a migration in place.
package struct UnhealedRows: Sendable, Equatable {
    package let kind: DamageKind
    /// The source entity, or the root entity of the table for rows of unknown entities.
    package let entity: String
    package let count: String
    /// In execution order, for a store whose triggers do not run: they call functions that only Apple registers.
    package let statements: [String]

    /// Returns the rows of unknown entities, then the rows without a mandatory value.
    package static func all(of step: ResolvedStep, in source: StoreLayout) -> [UnhealedRows] {
        var found = source.tablesInOrder.map { table in
            UnhealedRows(.unknownEntity, table.root, source.isOfUnknownEntity(in: table), in: table, of: source)
        }
        for mapping in step.entityMappings {
            let columns = step.values(neededBy: mapping)
                .compactMap { source.column(of: $0.source, in: mapping.source)?.name }
            guard !columns.isEmpty, let table = source.table(of: mapping.source),
                let number = source.number(of: mapping.source)
            else { continue }
            let condition = "Z_ENT = \(number) AND (\(EmptyValues.condition(columns)))"
            found.append(UnhealedRows(.missingValue, mapping.source, condition, in: table, of: source))
        }
        return found
    }

    private init(
        _ kind: DamageKind, _ entity: String, _ condition: String, in table: EntityTable, of source: StoreLayout
    ) {
        (self.kind, self.entity) = (kind, entity)
        let rows = "SELECT Z_PK FROM \(table.name) WHERE \(condition)"
        count = "SELECT count(*) FROM (\(rows))"
        // Z_MAX covers deleted rows, so that no key is given twice.
        statements =
            [source.raisedHighestKey(ofRoot: table.root)].compactMap(\.self)
            + Self.cuts(ofLinksTo: rows, in: table, of: source)
            + ["DELETE FROM \(table.name) WHERE \(condition)"]
    }

    private static func cuts(ofLinksTo rows: String, in table: EntityTable, of source: StoreLayout) -> [String] {
        func cut(_ key: String, _ others: [String?], in holder: String) -> [String] {
            ["UPDATE \(holder) SET \(([key] + others).emptied) WHERE \(key) IN (\(rows))"]
        }
        return source.relationshipStorage.inOrder { $0.key < $1.key }.flatMap { key, storage -> [String] in
            let target = source.model.relationship(key.property, of: key.entity)
                .flatMap { source.table(of: $0.destinationEntity)?.name }
            switch storage {
            case .foreignKey(let holder, let column, let entityColumn, let orderColumn) where target == table.name:
                return cut(column, [entityColumn, orderColumn], in: holder)
            case .inverseless(let holder, let column) where source.table(of: key.entity)?.name == table.name:
                return cut(column, [], in: holder)
            case .join(let join, _, let other, _, _) where target == table.name:
                // The layout stores only one side of a relationship that is its own inverse.
                let turned = source.joinTables.first { $0.name == join && $0.isReflexive }
                return ([other] + (turned.map { [$0.firstColumn, $0.secondColumn] } ?? []))
                    .map { "DELETE FROM \(join) WHERE \($0) IN (\(rows))" }
            default: return []
            }
        }
    }
}

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
    /// A statement that raises `Z_MAX` to the highest key in use, so that no key is given twice.
    func raisedHighestKey(ofRoot root: String) -> String? {
        guard let table = tables[root], let number = number(of: root) else { return nil }
        return
            "UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM \(table.name)), 0)) "
            + "WHERE Z_ENT = \(number)"
    }

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
            return """
                UPDATE \(table) SET \(entityColumn) = t.Z_ENT FROM \(target.name) AS t
                WHERE t.Z_PK = \(table).\(column) AND \(numbers(ofFamily: relationship.destinationEntity).rowCondition("t."))
                    AND \(table).\(entityColumn) IS NOT t.Z_ENT
                """
        }
    }
}
