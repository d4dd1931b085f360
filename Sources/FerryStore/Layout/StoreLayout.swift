package import FerryModel

/// The tables, columns and entity numbers of a model in a store.
///
/// ``StoreLayout/canonical(for:foundTriggers:)`` computes Core Data's names for a new store,
/// ``StoreLayout/actual(for:on:schema:catalog:)`` finds the names of an existing store.
package final class StoreLayout: @unchecked Sendable {
    package let model: ManagedObjectModel
    /// Entity name to `Z_ENT`.
    package internal(set) var entityNumbers: [String: Int64] = [:]
    /// Root entity name to its table.
    package internal(set) var tables: [String: EntityTable] = [:]
    package internal(set) var joinTables: [JoinTable] = []
    /// Indexes, in the order of their creation.
    package internal(set) var indexes: [IndexDefinition] = []
    /// Fetch indexes of the model that a new store does not get, as no rule tells their form.
    package internal(set) var leftOutIndexes: [LeftOutIndex] = []
    /// For the layout of an existing store: the index names of a new store with the same entity numbers.
    var computedIndexNames: Set<String>?
    /// R-Trees with their triggers, in the order of their creation: after the indexes.
    package internal(set) var rTrees: [RTree] = []
    /// Triggers of derived attributes, in the order of their creation: after everything else.
    package internal(set) var triggers: [TriggerDefinition] = []
    /// The values of derived attributes in SQL, for rows that no trigger has updated.
    package internal(set) var derivedValues: [DerivedValue] = []
    /// Declaring entity and relationship to storage.
    package internal(set) var relationshipStorage: [PropertyKey: RelationshipStorage] = [:]
    /// Declaring entity and attribute to column; composites have one entry per leaf (`composite.leaf`).
    package internal(set) var attributeColumns: [PropertyKey: Column] = [:]

    init(model: ManagedObjectModel) { self.model = model }

    package func table(of entity: String) -> EntityTable? { tables[model.root(of: entity)] }

    package func number(of entity: String) -> Int64? { entityNumbers[entity] }

    package var entitiesByNumber: [Int64: String] {
        Dictionary(entityNumbers.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the column of a stored attribute, own or inherited; nil if it is transient or unknown.
    package func column(of attribute: String, in entity: String) -> Column? {
        for ancestor in model.lineageNames(of: entity) {
            if let column = attributeColumns[PropertyKey(ancestor, attribute)] { return column }
        }
        return nil
    }

    /// Returns the storage of a relationship, own or inherited; nil if it is transient or unknown.
    package func storage(of relationship: String, in entity: String) -> RelationshipStorage? {
        for ancestor in model.lineageNames(of: entity) {
            if let storage = relationshipStorage[PropertyKey(ancestor, relationship)] { return storage }
        }
        return nil
    }
}

package struct PropertyKey: Sendable, Hashable {
    /// The declaring entity.
    package var entity: String
    package var property: String

    package init(_ entity: String, _ property: String) {
        self.entity = entity
        self.property = property
    }

    /// The name in messages.
    package var title: String { "\(entity).\(property)" }
}

extension ManagedObjectModel {
    /// The key of a property under the entity that declares it.
    package func key(of property: String, in entity: String) -> PropertyKey? {
        declaringEntity(of: property, in: entity).map { PropertyKey($0, property) }
    }

    /// The key of a relationship's inverse under the entity that declares it.
    package func inverseKey(of relationship: Relationship) -> PropertyKey? {
        relationship.inverseName.flatMap { key(of: $0, in: relationship.destinationEntity) }
    }
}

/// The table of a root entity and its subentities.
package struct EntityTable: Sendable, Hashable {
    package var root: String
    package var name: String
    /// All columns after `Z_PK`, `Z_ENT`, `Z_OPT`, in order.
    package var columns: [Column]
    /// The columns before ``columns`` in every entity table.
    static let systemColumns = ["Z_PK", "Z_ENT", "Z_OPT"]
    /// The columns of each UNIQUE clause; only systems before iOS 11 wrote them.
    package var uniqueLists: [[String]] = []

    /// In Core Data's spelling.
    package var sql: String {
        let declared = columns.map { column in
            "\(column.name) \(column.type)" + (uniqueLists.contains([column.name]) ? " UNIQUE" : "")
        }
        let clauses = uniqueLists.filter { $0.count > 1 }.map {
            "CONSTRAINT \($0.joined(separator: "_")) UNIQUE (\($0.joined(separator: ", ")))"
        }
        let all = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"] + declared + clauses
        return "CREATE TABLE \(name) ( \(all.joined(separator: ", ")) )"
    }
}

package struct JoinTable: Sendable, Hashable {
    package var name: String
    /// The relationship that names the table.
    package var relationship: PropertyKey
    /// The inverse; equal to `relationship` if that is its own inverse.
    package var inverse: PropertyKey
    /// The key of the naming entity's object (`Z_<n><INVERSE>`).
    package var firstColumn: String
    /// The key of the other object (`Z_<m><REL>`, or `REFLEXIVE`).
    package var secondColumn: String
    /// `Z_FOK_<m><REL>`: the position of the second object among the first one's, if the relationship is ordered.
    package var secondOrderColumn: String?
    /// `Z_FOK_<n><INVERSE>`: the position of the first object among the second one's, if the inverse is ordered.
    package var firstOrderColumn: String?
    /// Whether the primary key begins with the second column, as after Core Data renamed a table in place.
    package var isKeyTurned = false
    /// All columns in the store's order, if that differs from ``columns``.
    package var foundColumns: [String]?

    package var isReflexive: Bool { relationship == inverse }

    /// In Core Data's spelling.
    package var sql: String {
        let columns = (foundColumns ?? columns).map { "\($0) INTEGER" }.joined(separator: ", ")
        return "CREATE TABLE \(name) ( \(columns), PRIMARY KEY (\(keyColumns.joined(separator: ", "))) )"
    }

    /// The columns of the primary key, in its order.
    package var keyColumns: [String] { isKeyTurned ? [secondColumn, firstColumn] : [firstColumn, secondColumn] }

    /// All columns in the order of a new store.
    package var columns: [String] {
        [firstColumn, secondColumn] + [firstOrderColumn, secondOrderColumn].compactMap { $0 }
    }

    /// The index from the second object to the first.
    package var index: IndexDefinition {
        let index = "\(name)_\(secondColumn)_INDEX"
        return IndexDefinition(
            name: index, table: name, sql: "CREATE INDEX \(index) ON \(name) (\(secondColumn), \(firstColumn))",
            columns: [secondColumn, firstColumn])
    }
}

package struct IndexDefinition: Sendable, Hashable {
    package var name: String
    package var table: String
    package var sql: String
    /// The indexed columns, in order; nil for an index read from a schema, which is equal nevertheless.
    package var columns: [String]?

    package var isUnique: Bool { sql.hasPrefix("CREATE UNIQUE ") }

    package static func == (one: Self, other: Self) -> Bool {
        (one.name, one.table, one.sql) == (other.name, other.table, other.sql)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(sql) }
}

/// A fetch index that a new store does not get.
package struct LeftOutIndex: Sendable, Hashable {
    package var entity: String
    package var name: String
    package var properties: [String]
    package var reason: String

    /// The warning in words.
    package var sentence: String {
        "The fetch index \(name) of \(entity) is left out, as \(reason). Only the speed of fetches by "
            + "\(properties.joined(separator: ", ")) depends on it; a store of the version that Core Data made, given as the "
            + "model, shows its form."
    }
}

extension StoreLayout {
    /// Whether the entries of an index have variable length.
    package func holdsTexts(_ index: IndexDefinition) -> Bool {
        let columns = tables.values.first { $0.name == index.table }?.columns ?? []
        return columns.contains { column in
            column.hasVariableLength && index.columns?.contains(column.name) ?? true
        }
    }
}

package struct TriggerDefinition: Sendable, Hashable {
    package var name: String
    package var table: String
    package var sql: String
}

/// A derived attribute whose value the store's rows determine.
package struct DerivedValue: Sendable, Hashable {
    /// A column on which the value depends.
    package struct Source: Sendable, Hashable {
        package var table: String
        package var column: String
    }

    package var attribute: PropertyKey
    package var table: String
    package var column: String
    /// `Z_ENT` of the declaring entity and its subentities.
    package var entityNumbers: [Int64]
    package var derivation: Derivation
    /// The value in SQL, for a row with the alias `t`.
    package var expression: String
    /// In an order that depends only on the form of the derivation.
    package var reads: [Source]

    /// For rows with keys above `:low` up to `:high`.
    package var update: String {
        "UPDATE main.\(table) AS t SET \(column) = \(expression) "
            + "WHERE t.Z_PK > :low AND t.Z_PK <= :high AND \(entityNumbers.rowCondition("t."))"
    }
}

/// The storage of a relationship, from the side of its declaring entity.
package enum RelationshipStorage: Sendable, Hashable {
    /// A to-one: a column of the declaring entity's own table.
    ///
    /// `entityColumn` (`Z<n>_<REL>`) has the destination's `Z_ENT` if the destination entity has subentities;
    /// `orderColumn` (`Z_FOK_<REL>`) has the position among the inverse's objects if the inverse is ordered.
    case foreignKey(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// A to-many whose inverse is to-one: the inverse's columns, in the destination's table.
    case inverseForeignKey(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// A many-to-many; `own` has the declaring object's key, `other` the related object's.
    ///
    /// `otherOrder` is the position of the related object among this object's, if this relationship is ordered;
    /// `ownOrder` the position of this object among the related one's, if the inverse is ordered.
    case join(table: String, own: String, other: String, otherOrder: String?, ownOrder: String?)
    /// A to-many without inverse: a column `Z<n><REL>` in the destination's table with the declaring object's key.
    case inverseless(table: String, column: String)

    package var table: String {
        switch self {
        case .foreignKey(let table, _, _, _), .inverseForeignKey(let table, _, _, _), .join(let table, _, _, _, _),
            .inverseless(let table, _):
            table
        }
    }

    /// The columns of ``table`` that hold the links.
    package var columnNames: [String] {
        switch self {
        case .foreignKey(_, let column, let number, let order),
            .inverseForeignKey(_, let column, let number, let order):
            [column] + [number, order].compactMap { $0 }
        case .join(_, let own, let other, let otherOrder, let ownOrder):
            [own, other] + [otherOrder, ownOrder].compactMap { $0 }
        case .inverseless(_, let column): [column]
        }
    }
}
