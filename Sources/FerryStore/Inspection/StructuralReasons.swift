internal import FerryBase
package import FerryModel
package import FerrySQLite

/// Reasons for the differences between a store's and a model's version hashes, as far as the store shows them.
package struct StructuralReasons: Sendable {
    package struct Reason: Sendable, Hashable {
        package var entity: String
        package var property: String?
        package var text: String
    }

    /// In the order of the given entities; an entity without a visible difference has one reason that says so.
    package private(set) var reasons: [Reason] = []
    private let nearest: ManagedObjectModel

    /// Compares entities of the nearest model version with the store's cached model, or else with the store's tables.
    package init(
        of entities: [String], comparedWith nearest: ManagedObjectModel, own: ManagedObjectModel?,
        on connection: Connection
    ) throws(DatabaseError) {
        self.nearest = nearest
        let stored = Set(
            try connection.rows("SELECT Z_NAME FROM \(SQLName.quoted("main", "Z_PRIMARYKEY"))").compactMap(\.[0].text))
        let catalog = try StoreCatalog(connection)
        let expected = LayoutBuilder(nearest).layout
        let difference = own.map { ModelDifference(from: $0, to: nearest) }
        for entity in entities {
            let before = reasons.count
            if nearest.entities[entity] == nil {
                add(entity, nil, "The model has no entity of this name.")
            } else if !stored.contains(entity) {
                add(entity, nil, "The store has no entity of this name.")
            } else if let difference {
                compare(entity, in: difference)
            } else {
                compare(entity, expected, catalog)
            }
            if reasons.count == before {
                add(
                    entity, nil,
                    "The store's structure does not explain it: it may be an optional flag, a type with the same storage, a "
                        + "property that is not stored, or a hash modifier.")
            }
        }
    }

    private mutating func add(_ entity: String, _ property: String?, _ text: String) {
        reasons.append(Reason(entity: entity, property: property, text: text))
    }

    // MARK: With the store's cached model

    /// Adds the changes from the store's model to the nearest one, also of ancestors, which change the hash too.
    private mutating func compare(_ entity: String, in difference: ModelDifference) {
        let lineage = Set(nearest.lineage(of: entity).map(\.name))
        for change in difference.changes where lineage.contains(change.entity) && isHashed(change.kind) {
            let inherited = change.entity == entity ? "" : " (of \(change.entity))"
            let renamed = change.oldName.flatMap { $0 == change.property ?? change.entity ? nil : " from \($0)" }
            add(
                entity, change.property,
                "From the store to the model: \(change.kind.rawValue)\(renamed ?? "")\(inherited).")
        }
    }

    private func isHashed(_ kind: ModelDifference.Kind) -> Bool {
        ![.defaultValueChanged, .indexesChanged].contains(kind)
    }

    // MARK: With the store's tables

    private mutating func compare(_ entity: String, _ expected: StoreLayout, _ catalog: StoreCatalog) {
        let root = nearest.root(of: entity)
        guard let table = expected.tables[root].flatMap({ catalog.table($0.name) }) else {
            return add(entity, nil, "The store has no table for it.")
        }
        for (key, column) in expected.attributeColumns(of: entity) {
            guard let found = table.column(column.name) else {
                add(entity, key.property, "The store has no column \(column.name) for it.")
                continue
            }
            if found.type.uppercased() != column.type {
                add(entity, key.property, "Its column is \(found.type), but \(column.type) in the model.")
            }
        }
        for (key, storage) in expected.relationshipStorage(of: entity) {
            switch storage {
            case .foreignKey(_, let column, _, let order):
                for column in [column, order].compactMap({ $0 }) where table.column(column) == nil {
                    add(entity, key.property, "The store has no column \(column) for it.")
                }
            case .inverseForeignKey(let other, let column, _, _), .inverseless(let other, let column):
                if catalog.table(other)?.column(column) == nil {
                    add(entity, key.property, "The store has no column \(column) in \(other) for it.")
                }
            case .join: break  // Its names contain entity numbers, which may differ for equal models.
            }
        }
        guard root == entity, let planned = expected.tables[root] else { return }
        let known = Set(planned.columns.map { $0.name.uppercased() } + EntityTable.systemColumns)
        for column in table.columns where !known.contains(column.name.uppercased()) {
            add(entity, nil, "The store's column \(column.name) does not belong to a property of the model.")
        }
    }
}
