package import FerryModel

/// Where a model's entities and properties stand in a store: tables, columns, numbers.
///
/// One type for both directions: ``StoreLayout/canonical(for:foundTriggers:)`` computes the names that Core Data gives a new store,
/// ``StoreLayout/actual(for:on:)`` finds the names that an existing store has.
package struct StoreLayout: Sendable {
    package var model: ManagedObjectModel
    /// Entity name to `Z_ENT`.
    package var entityNumbers: [String: Int64] = [:]
    /// Root entity name to its table.
    package var tables: [String: EntityTable] = [:]
    package var joinTables: [JoinTable] = []
    /// Indexes, in the order in which they are created.
    package var indexes: [IndexDefinition] = []
    /// Of the layout of an existing store: the names of the indexes that a new one with its numbers would have.
    var computedIndexNames: Set<String>?
    /// R-Trees with their triggers, in the order in which they are created: after the indexes.
    package var rTrees: [RTree] = []
    /// Triggers of derived attributes, in the order in which they are created: after everything else.
    package var triggers: [TriggerDefinition] = []
    /// How the columns of derived attributes are filled where no trigger did it.
    package var derivedValues: [DerivedValue] = []
    /// Declaring entity name and relationship name to its storage.
    package var relationshipStorage: [PropertyKey: RelationshipStorage] = [:]
    /// Declaring entity name and attribute name to its column; composites have one entry per leaf (`composite.leaf`).
    package var attributeColumns: [PropertyKey: Column] = [:]

    /// The table that holds an entity's rows.
    package func table(of entity: String) -> EntityTable? { tables[model.root(of: entity)] }

    package func number(of entity: String) -> Int64? { entityNumbers[entity] }

    /// The column of a stored attribute, own or inherited; nil when it is transient or unknown.
    package func column(of attribute: String, in entity: String) -> Column? {
        for ancestor in model.lineageNames(of: entity) {
            if let column = attributeColumns[PropertyKey(ancestor, attribute)] { return column }
        }
        return nil
    }

    /// The storage of a relationship, own or inherited; nil when it is transient or unknown.
    package func storage(of relationship: String, in entity: String) -> RelationshipStorage? {
        for ancestor in model.lineageNames(of: entity) {
            if let storage = relationshipStorage[PropertyKey(ancestor, relationship)] { return storage }
        }
        return nil
    }
}

package struct PropertyKey: Sendable, Hashable {
    /// The entity that declares the property.
    package var entity: String
    package var property: String

    package init(_ entity: String, _ property: String) {
        self.entity = entity
        self.property = property
    }

    /// As messages name it.
    package var title: String { "\(entity).\(property)" }
}

/// A column of an entity table.
package struct Column: Sendable, Hashable {
    package var name: String
    /// The SQL type as declared: `INTEGER`, `VARCHAR`, `FLOAT`, `TIMESTAMP`, `DECIMAL`, `BLOB`.
    package var type: String

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// The table of a root entity and everything below it.
package struct EntityTable: Sendable, Hashable {
    package var root: String
    package var name: String
    /// All columns after `Z_PK`, `Z_ENT`, `Z_OPT`, in order.
    package var columns: [Column]
    /// What stands before them, in every table of an entity.
    static let systemColumns = ["Z_PK", "Z_ENT", "Z_OPT"]
    /// The columns of each UNIQUE clause; only systems before iOS 11 wrote them.
    package var uniqueLists: [[String]] = []

    /// The statement that creates the table, in Core Data's own spelling.
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

/// The table of a many-to-many relationship.
package struct JoinTable: Sendable, Hashable {
    package var name: String
    /// The relationship that names the table, as it is declared.
    package var relationship: PropertyKey
    /// Its inverse; equal to `relationship` when it is its own inverse.
    package var inverse: PropertyKey
    /// Holds the key of the naming entity's object (`Z_<n><INVERSE>`).
    package var firstColumn: String
    /// Holds the key of the other one (`Z_<m><REL>`, or `REFLEXIVE`).
    package var secondColumn: String
    /// `Z_FOK_<m><REL>`: the position of the second object among the first one's, when the relationship is ordered.
    package var secondOrderColumn: String?
    /// `Z_FOK_<n><INVERSE>`: the position of the first object among the second one's, when the inverse is ordered.
    package var firstOrderColumn: String?
    /// Whether the second column comes first in the primary key, as where Core Data renamed a table in place.
    package var isKeyTurned = false
    /// All columns in the order in which a store has them, where that is another one than ``columns``.
    package var foundColumns: [String]?

    package var isReflexive: Bool { relationship == inverse }

    /// The statement that creates the table, in Core Data's own spelling.
    package var sql: String {
        let columns = (foundColumns ?? columns).map { "\($0) INTEGER" }.joined(separator: ", ")
        return "CREATE TABLE \(name) ( \(columns), PRIMARY KEY (\(keyColumns.joined(separator: ", "))) )"
    }

    /// The columns of the primary key, in its order.
    package var keyColumns: [String] { isKeyTurned ? [secondColumn, firstColumn] : [firstColumn, secondColumn] }

    /// All columns, as a new store has them.
    package var columns: [String] {
        [firstColumn, secondColumn] + [firstOrderColumn, secondOrderColumn].compactMap { $0 }
    }

    /// The index that leads from the second object to the first.
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
    /// The columns that it holds, in order; nil of one that was read from a schema, which is the same for all that.
    package var columns: [String]?

    package static func == (one: Self, other: Self) -> Bool {
        (one.name, one.table, one.sql) == (other.name, other.table, other.sql)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(sql) }
}

extension StoreLayout {
    /// Whether the entries of an index may be of any length: texts, decimal numbers, binary data.
    package func holdsTexts(_ index: IndexDefinition) -> Bool {
        let columns = tables.values.first { $0.name == index.table }?.columns ?? []
        return columns.contains { column in
            ["VARCHAR", "BLOB", "DECIMAL"].contains(column.type) && index.columns?.contains(column.name) ?? true
        }
    }
}

package struct TriggerDefinition: Sendable, Hashable {
    package var name: String
    package var table: String
    package var sql: String
}

/// A derived attribute whose value follows from the rows of the store.
package struct DerivedValue: Sendable, Hashable {
    /// A column that decides about the value.
    package struct Source: Sendable, Hashable {
        package var table: String
        package var column: String
    }

    package var attribute: PropertyKey
    /// The table and the column of the attribute.
    package var table: String
    package var column: String
    /// `Z_ENT` of the declaring entity and of everything below it.
    package var entityNumbers: [Int64]
    package var derivation: Derivation
    /// The value in SQL, of a row called `t`.
    package var expression: String
    /// In an order that only depends on the form of the derivation.
    package var reads: [Source]

    /// The statement that computes the values of the rows with keys above `:low` up to `:high`.
    package var update: String {
        "UPDATE main.\(table) AS t SET \(column) = \(expression) "
            + "WHERE t.Z_PK > :low AND t.Z_PK <= :high AND \(entityNumbers.rowCondition("t."))"
    }
}

/// Where a relationship is stored, seen from the entity that declares it.
package enum RelationshipStorage: Sendable, Hashable {
    /// A to-one: a column of the declaring entity's own table.
    ///
    /// `entityColumn` (`Z<n>_<REL>`) holds the destination's `Z_ENT` where the destination entity has subentities;
    /// `orderColumn` (`Z_FOK_<REL>`) the position among the inverse's objects where that is ordered.
    case foreignKey(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// A to-many whose inverse is to-one: the inverse's columns, in the destination's table.
    case inverseForeignKey(table: String, column: String, entityColumn: String?, orderColumn: String?)
    /// A many-to-many; `own` holds the declaring object's key, `other` the related one's.
    ///
    /// `otherOrder` is the position of the related object among this object's, where this relationship is ordered;
    /// `ownOrder` the position of this object among the related one's, where the inverse is ordered.
    case join(table: String, own: String, other: String, otherOrder: String?, ownOrder: String?)
    /// A to-many without inverse: a column `Z<n><REL>` in the destination's table that holds the declaring object's key.
    case inverseless(table: String, column: String)

    /// The table whose columns hold the keys.
    package var table: String {
        switch self {
        case .foreignKey(let table, _, _, _), .inverseForeignKey(let table, _, _, _), .join(let table, _, _, _, _),
            .inverseless(let table, _):
            table
        }
    }
}
