internal import FerryBase
internal import FerryMapping
internal import FerryModel
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
                let family = source.model.family(of: table.root).compactMap { source.number(of: $0) }.sorted()
                let known = family.sqlList
                let rows = try remove("Z_ENT IS NULL OR Z_ENT NOT IN (\(known))", from: table)
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
                try cut([column, entityColumn, orderColumn].compactMap { $0 }, in: holder, rows)
            case .inverseless(let holder, let column) where source.table(of: key.entity)?.name == table.name:
                try cut([column], in: holder, rows)
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

    private func cut(_ columns: [String], in holder: String, _ rows: String) throws {
        let empty = columns.map { "\($0) = NULL" }.joined(separator: ", ")
        try connection.execute("UPDATE \(holder) SET \(empty) WHERE \(columns[0]) IN (\(rows))")
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
