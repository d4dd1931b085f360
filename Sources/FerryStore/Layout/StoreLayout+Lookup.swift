package import FerryBase
package import FerryModel
package import FerrySQLite

extension StoreLayout {
    /// Entity tables in the order of their roots' numbers.
    package var tablesInOrder: [EntityTable] {
        tables.values.sorted { (entityNumbers[$0.root] ?? 0) < (entityNumbers[$1.root] ?? 0) }
    }

    /// All triggers in Core Data's order: those of R-Trees, then those of derived attributes.
    package var allTriggers: [TriggerDefinition] { rTrees.flatMap(\.triggers) + triggers }

    /// By table: the columns with keys of to-one relationships, and of to-many relationships without inverse.
    var keyColumns: [String: Set<String>] {
        relationshipStorage.values.reduce(into: [:]) { columns, storage in
            switch storage {
            case .foreignKey(let table, let column, _, _), .inverseless(let table, let column):
                columns[table, default: []].insert(column)
            case .join, .inverseForeignKey: break
            }
        }
    }

    package func entities(inTableOf root: String) -> [String] {
        model.family(of: root).sorted { (entityNumbers[$0] ?? 0) < (entityNumbers[$1] ?? 0) }
    }

    /// Returns the numbers of an entity and its subentities, ascending.
    package func numbers(ofFamily entity: String) -> [Int64] {
        model.family(of: entity).compactMap { entityNumbers[$0] }.sorted()
    }

    /// Returns the condition that a row is of an entity or its subentities; nil if all rows of the table are.
    package func isKind(_ prefix: String, of entity: String) -> String? {
        model.root(of: entity) == entity ? nil : numbers(ofFamily: entity).rowCondition(prefix)
    }

    /// Returns the attribute for a key of ``attributeColumns``: for `composite.leaf`, the leaf.
    package func attribute(_ key: PropertyKey) -> Attribute? { model.attribute(key.property, of: key.entity) }

    /// Returns the columns of an entity's attributes, inherited ones included, by declaring entity and name.
    package func attributeColumns(of entity: String) -> [(key: PropertyKey, value: Column)] {
        let lineage = Set(model.lineageNames(of: entity))
        return attributeColumns.filter { lineage.contains($0.key.entity) }.sorted { $0.key < $1.key }
    }

    /// Returns the stored relationships of an entity, inherited ones included, by declaring entity and name.
    package func relationshipStorage(of entity: String) -> [(key: PropertyKey, value: RelationshipStorage)] {
        let lineage = Set(model.lineageNames(of: entity))
        return relationshipStorage.filter { lineage.contains($0.key.entity) }.sorted { $0.key < $1.key }
    }

    /// Returns the columns of a table with a property of the model, or of one entity; others are dead.
    package func knownColumns(of table: EntityTable, in entity: String? = nil) -> Set<String> {
        let lineage = Set(entity.map(model.lineageNames(of:)) ?? model.family(of: table.root))
        var known: Set<String> = []
        // By entity, because many tables are looked up one by one, and a model can have thousands of properties.
        for entity in lineage.compactMap({ model.entities[$0] }) {
            for attribute in entity.attributes {
                for leaf in model.leaves(of: attribute) {
                    if let column = attributeColumns[PropertyKey(entity.name, leaf.name)] { known.insert(column.name) }
                }
            }
            for relationship in entity.relationships {
                let storage = relationshipStorage[PropertyKey(entity.name, relationship.name)]
                if case .foreignKey(table.name, let column, let entityColumn, let orderColumn)? = storage {
                    known.formUnion([column, entityColumn, orderColumn].compactMap { $0 })
                }
            }
        }
        for case (let key, .inverseless(table.name, let column)) in relationshipStorage {
            let target = model.relationship(key.property, of: key.entity)?.destinationEntity
            if entity == nil || target.map(lineage.contains) == true { known.insert(column) }
        }
        return known
    }
}

extension StoreLayout {
    /// Returns the actual layout of an existing store of a model.
    ///
    /// Names are the store's own: in-place migrations leave old suffixes, old naming sides of join tables and columns
    /// of earlier versions. Only ``EntityTable/columns`` has columns without a property; ``indexes`` are the store's.
    ///
    /// Callers pass the catalog if they have it.
    ///
    /// - Throws: `damagedSource` with the missing table or property; ``DatabaseError``.
    package static func actual(
        for model: ManagedObjectModel, on connection: Connection, schema: String = "main",
        catalog known: StoreCatalog? = nil
    ) throws -> StoreLayout {
        let catalog = try known ?? StoreCatalog(connection, schema: schema)
        let numbers = try storedNumbers(of: model, on: connection, schema: schema)
        var finder = LayoutFinder(expected: LayoutBuilder(model, numbers: numbers).layout, catalog: catalog)
        return try finder.find()
    }
}

extension StoreLayout {
    /// Returns Core Data's layout of a new store, or that of a known store (``ManagedObjectModel/knownSchema``).
    ///
    /// All entities of the model get tables, in any configuration.
    ///
    /// - Throws: `unsupported` for the first case without a rule; `damagedSource` if the known store has another model.
    package static func canonical(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) throws(FerryError) -> StoreLayout {
        let builder = try builder(for: model, found)
        if let refusal = builder.refusals.first { throw refusal }
        return builder.layout
    }

    private static func builder(
        for model: ManagedObjectModel, _ found: FoundTriggers
    ) throws(FerryError) -> LayoutBuilder {
        var builder = LayoutBuilder(model)
        if let known = model.knownSchema { try builder.take(known) }
        builder.addFoundTriggers(found)
        return builder
    }

    /// Returns the fetch indexes that a new store of a model does not get.
    package static func leftOutIndexes(of model: ManagedObjectModel) -> [LeftOutIndex] {
        LayoutBuilder(model).layout.leftOutIndexes
    }

    /// Returns all reasons why ``canonical(for:foundTriggers:)`` throws for a model; empty if it does not.
    package static func refusals(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) -> [FerryError] {
        do throws(FerryError) {
            return try builder(for: model, found).refusals
        } catch {
            return [error]
        }
    }
}
