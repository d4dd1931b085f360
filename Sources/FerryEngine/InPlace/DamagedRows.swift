internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Takes rows out of a store that no rule heals, with the links to them, before it is migrated in place.
///
/// The store's triggers call functions that only Apple registers, and are made anew afterwards: they do not run.
struct DamagedRowsRemoval {
    let step: ResolvedStep
    let source: StoreLayout
    let connection: Connection

    struct Removed {
        var damage: [(kind: String, entity: String, rows: Int64)] = []
        /// By the position of the mapping that would have taken them.
        var rows: [Int: Int64] = [:]
    }

    func run() throws -> Removed {
        var removed = Removed()
        try connection.withoutTriggers {
            for table in source.tablesInOrder {
                let rows = try remove(source.isOfUnknownEntity(in: table), from: table)
                if rows > 0 { removed.damage.append((StoreDamage.Kind.unknownEntity.rawValue, table.root, rows)) }
            }
            for mapping in step.entityMappings {
                guard let table = source.table(of: mapping.source), let number = source.number(of: mapping.source)
                else { continue }
                let columns = step.mandatoryValues(of: mapping).filter { !$0.wasOptional }
                    .compactMap { source.column(of: $0.source, in: mapping.source)?.name }
                guard !columns.isEmpty else { continue }
                let rows = try remove("Z_ENT = \(number) AND (\(EmptyValues.condition(columns)))", from: table)
                guard rows > 0 else { continue }
                removed.damage.append((StoreDamage.Kind.missingValue.rawValue, mapping.source, rows))
                removed.rows[mapping.position] = rows
            }
            if !removed.damage.isEmpty { try countDerivedValues() }
        }
        return removed
    }

    private func remove(_ condition: String, from table: EntityTable) throws -> Int64 {
        let rows = "SELECT Z_PK FROM \(table.name) WHERE \(condition)"
        let count = try connection.integer("SELECT count(*) FROM (\(rows))") ?? 0
        guard count > 0 else { return 0 }
        // No key is given twice, also when its row goes.
        try connection.run(
            "UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), (SELECT max(Z_PK) FROM \(table.name))) WHERE Z_ENT = ?",
            [source.number(of: table.root).map { .integer($0) } ?? .null])
        for (key, storage) in source.relationshipStorage.sorted(by: { $0.key < $1.key }) {
            let target = source.model.relationship(key.property, of: key.entity)
                .flatMap { source.table(of: $0.destinationEntity)?.name }
            switch storage {
            case .foreignKey(let holder, let column, let entityColumn, let orderColumn) where target == table.name:
                try cut(column, [entityColumn, orderColumn], in: holder, rows)
            case .inverseless(let holder, let column) where source.table(of: key.entity)?.name == table.name:
                try cut(column, [], in: holder, rows)
            case .join(let join, _, let other, _, _) where target == table.name:
                try connection.execute("DELETE FROM \(join) WHERE \(other) IN (\(rows))")
                // Of a relationship that is its own inverse only one side is told.
                if let table = source.joinTables.first(where: { $0.name == join }), table.isReflexive {
                    try connection.execute("DELETE FROM \(join) WHERE \(table.firstColumn) IN (\(rows))")
                    try connection.execute("DELETE FROM \(join) WHERE \(table.secondColumn) IN (\(rows))")
                }
            default: break
            }
        }
        try connection.execute("DELETE FROM \(table.name) WHERE \(condition)")
        return count
    }

    private func cut(_ key: String, _ others: [String?], in holder: String, _ rows: String) throws {
        try connection.execute("UPDATE \(holder) SET \(([key] + others).emptied) WHERE \(key) IN (\(rows))")
    }

    /// What their triggers would have done.
    private func countDerivedValues() throws {
        for value in source.derivedValues {
            let update = try connection.prepare(value.update)
            try update.bind(KeyRange.all)
            try update.run()
        }
    }
}

/// Rows whose entity no model version knows, which stay in their tables as they are.
///
/// They can stay where their table does, and where their number does not come to mean an entity of the new version.
struct RowsOfUnknownEntities {
    let plan: InPlacePlan
    let source: StoreLayout
    let destination: StoreLayout
    let connection: Connection

    private func rowsOfUnknownEntities(in table: EntityTable) -> String {
        "\(Connection.quoted(table.name)) WHERE \(source.isOfUnknownEntity(in: table))"
    }

    /// Why they cannot stay; nil when they can, or when there are none.
    func refusal() throws(DatabaseError) -> FerryError? {
        for table in source.tablesInOrder {
            let rows = try connection.integer("SELECT count(*) FROM \(rowsOfUnknownEntities(in: table))") ?? 0
            guard rows > 0 else { continue }
            guard let heir = plan.altered[table.name] else {
                return refusal(rows, table.root, "the table is made anew or goes, and they have no place in a new one")
            }
            let root = destination.tables.values.first { $0.name == heir }?.root ?? ""
            let numbers = destination.numbers(ofFamily: root)
            let own = try connection.rows("SELECT DISTINCT Z_ENT FROM \(rowsOfUnknownEntities(in: table))").compactMap(
                \.[0].integer)
            if own.contains(where: numbers.contains) {
                return refusal(rows, table.root, "their number is that of another entity in the new version")
            }
        }
        return nil
    }

    private func refusal(_ rows: Int64, _ entity: String, _ reason: String) -> FerryError {
        FerryError(
            .damagedSource,
            "\(rows.counting("row")) in the table of \(entity) \(rows == 1 ? "has" : "have") a Z_ENT that is no entity of that table, and "
                + "cannot be kept: \(reason).",
            remedy: "Leave them out with \(setting: .damaged, .choice("drop")), or repair them with the app.",
            place: .init(entity: entity))
    }
}

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
                let isOfFamily = source.numbers(ofFamily: relationship.destinationEntity).rowCondition("t.")
                try connection.execute(
                    """
                    UPDATE \(table) SET \(entityColumn) = t.Z_ENT FROM \(target.name) AS t
                    WHERE t.Z_PK = \(table).\(column) AND \(isOfFamily)
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

extension StoreLayout {
    /// The condition that no entity of a table has the number of a row.
    fileprivate func isOfUnknownEntity(in table: EntityTable) -> String {
        "Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers(ofFamily: table.root).sqlList))"
    }
}
