/// The schema of a store that Core Data made of the very version of a model: what a new store is to be like.
///
/// Nothing of it is in the model's file or hashes; it settles what these leave open.
package struct KnownSchema: Sendable, Hashable {
    package struct Table: Sendable, Hashable {
        package struct Column: Sendable, Hashable {
            package var name: String
            /// As declared.
            package var type: String

            package init(name: String, type: String) {
                self.name = name
                self.type = type
            }
        }

        package var name: String
        /// All columns, in order.
        package var columns: [Column]
        /// The columns of the primary key, in its order.
        package var keyColumns: [String]
        /// The columns of each UNIQUE clause.
        package var uniqueLists: [[String]]

        package init(name: String, columns: [Column], keyColumns: [String], uniqueLists: [[String]]) {
            self.name = name
            self.columns = columns
            self.keyColumns = keyColumns
            self.uniqueLists = uniqueLists
        }
    }

    /// An index, a trigger or a virtual table, with the statement that made it.
    package struct Object: Sendable, Hashable {
        package var type: String
        package var name: String
        /// The table that it is on.
        package var table: String
        package var sql: String

        package init(type: String, name: String, table: String, sql: String) {
            self.type = type
            self.name = name
            self.table = table
            self.sql = sql
        }
    }

    /// Entity name to `Z_ENT`.
    package var entityNumbers: [String: Int64]
    package var tables: [Table]
    /// In the order of their making.
    package var objects: [Object]

    package init(entityNumbers: [String: Int64], tables: [Table], objects: [Object]) {
        self.entityNumbers = entityNumbers
        self.tables = tables
        self.objects = objects
    }
}

/// How a many-to-many relationship stands in stores of a model, where that does not follow from the model.
///
/// Only a store that Core Data made tells, or an option that repeats what one told.
package struct KnownJoin: Sendable, Hashable {
    /// The entity that declares the relationship which names the table.
    package var entity: String
    /// The relationship that names the table.
    package var relationship: String
    /// What follows the computed name of the column with the naming entity's key, and that of the other one; nil where
    /// the computed ones hold.
    package var firstSuffix: String?
    package var secondSuffix: String?

    package init(entity: String, relationship: String, firstSuffix: String? = nil, secondSuffix: String? = nil) {
        self.entity = entity
        self.relationship = relationship
        self.firstSuffix = firstSuffix
        self.secondSuffix = secondSuffix
    }
}
