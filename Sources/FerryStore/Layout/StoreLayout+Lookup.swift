package import FerryModel

extension StoreLayout {
    /// Entity tables in the order of their roots' numbers.
    package var tablesInOrder: [EntityTable] {
        tables.values.sorted { (entityNumbers[$0.root] ?? 0) < (entityNumbers[$1.root] ?? 0) }
    }

    /// Every trigger that Core Data makes, in that order: those of R-Trees, then those of derived attributes.
    package var allTriggers: [TriggerDefinition] { rTrees.flatMap(\.triggers) + triggers }

    /// The entities whose rows a table holds, in the order of their numbers.
    package func entities(inTableOf root: String) -> [String] {
        model.family(of: root).sorted { (entityNumbers[$0] ?? 0) < (entityNumbers[$1] ?? 0) }
    }

    /// The numbers of an entity and of everything below it, ascending.
    package func numbers(ofFamily entity: String) -> [Int64] {
        model.family(of: entity).compactMap { entityNumbers[$0] }.sorted()
    }

    /// The attribute behind a key of ``attributeColumns``: for `composite.leaf`, the leaf.
    package func attribute(_ key: PropertyKey) -> Attribute? { model.attribute(key.property, of: key.entity) }

    /// The columns that hold attributes of an entity's rows, inherited ones included, by declaring entity and name.
    package func attributeColumns(of entity: String) -> [(key: PropertyKey, column: Column)] {
        let lineage = Set(model.lineageNames(of: entity))
        return attributeColumns.filter { lineage.contains($0.key.entity) }
            .sorted { $0.key < $1.key }
            .map { (key: $0.key, column: $0.value) }
    }

    /// The stored relationships of an entity's rows, inherited ones included, by declaring entity and name.
    package func relationshipStorage(
        of entity: String
    ) -> [(key: PropertyKey, storage: RelationshipStorage)] {
        let lineage = Set(model.lineageNames(of: entity))
        return relationshipStorage.filter { lineage.contains($0.key.entity) }
            .sorted { $0.key < $1.key }
            .map { (key: $0.key, storage: $0.value) }
    }

    /// The columns of a table that properties of the model have; others are dead.
    package func knownColumns(of table: EntityTable) -> Set<String> {
        var known: Set<String> = []
        for (key, column) in attributeColumns where model.root(of: key.entity) == table.root {
            known.insert(column.name)
        }
        for storage in relationshipStorage.values {
            switch storage {
            case .foreignKey(table.name, let column, let entityColumn, let orderColumn):
                known.formUnion([column, entityColumn, orderColumn].compactMap { $0 })
            case .inverseless(table.name, let column): known.insert(column)
            default: break
            }
        }
        return known
    }
}
