package struct Column: Sendable, Hashable {
    package var name: String
    /// The declared type: `INTEGER`, `VARCHAR`, `FLOAT`, `TIMESTAMP`, `DECIMAL`, `BLOB`.
    package var type: String

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }

    /// Whether values have any length: texts, decimal numbers, binary data.
    package var hasVariableLength: Bool { ["VARCHAR", "BLOB", "DECIMAL", "TEXT"].contains(type.uppercased()) }
}

/// The schema of a store that Core Data made from exactly this model version; new stores follow it.
///
/// Neither the model's file nor its hashes decide the whole schema.
package struct KnownSchema: Sendable, Hashable {
    package struct Table: Sendable, Hashable {
        package var name: String
        /// All columns with their declared types, in order.
        package var columns: [Column] = []
        /// The columns of the primary key, in the key's order.
        package var keyColumns: [String] = []
        /// The columns of each UNIQUE clause, in a known schema.
        package var uniqueLists: [[String]] = []
        /// The CREATE statement; empty in a known schema.
        package var sql: String

        package init(name: String, sql: String) { (self.name, self.sql) = (name, sql) }

        /// Returns a column by name, without regard to case.
        package func column(_ name: String) -> Column? {
            // A table may have thousands of columns, and mostly has the name as it is given.
            if let exact = columns.first(where: { $0.name == name }) { return exact }
            let upper = name.uppercased()
            return columns.first { $0.name.uppercased() == upper }
        }
    }

    /// An index, a trigger, a view or a virtual table, with its CREATE statement.
    package struct Object: Sendable, Hashable {
        package var type: String
        package var name: String
        package var table: String
        package var sql: String

        package init(type: String, name: String, table: String = "", sql: String) {
            self.type = type
            self.name = name
            self.table = table
            self.sql = sql
        }
    }

    /// Entity name to `Z_ENT`.
    package var entityNumbers: [String: Int64]
    package var tables: [Table]
    /// In the order of creation.
    package var objects: [Object]

    package init(entityNumbers: [String: Int64], tables: [Table], objects: [Object]) {
        self.entityNumbers = entityNumbers
        self.tables = tables
        self.objects = objects
    }
}

/// The form of a many-to-many relationship's join table in stores of a model, if the model does not decide it.
///
/// The form comes from a store that Core Data made, or from an option that repeats such a store.
package struct KnownJoin: Sendable, Hashable {
    /// The entity that declares ``relationship``.
    package var entity: String
    /// The relationship whose name the join table has.
    package var relationship: String
    /// The suffix after the computed name of the naming entity's key column; nil if the computed name is right.
    package var firstSuffix: String?
    /// The suffix after the computed name of the other key column; nil if the computed name is right.
    package var secondSuffix: String?

    package init(entity: String, relationship: String, firstSuffix: String? = nil, secondSuffix: String? = nil) {
        self.entity = entity
        self.relationship = relationship
        self.firstSuffix = firstSuffix
        self.secondSuffix = secondSuffix
    }
}
