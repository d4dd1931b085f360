internal import FerryModel
package import FerryStore

/// What a plan in place must know of a store beside the layout of its model.
package struct InPlaceSchema: Sendable {
    /// Upper-case name of every ordinary table to the statement that made it.
    package var tables: [String: String]
    /// Upper-case name of a join table to the columns of its primary key, in its order.
    package var joinKeys: [String: [String]] = [:]
    /// Indexes on the model's tables that Core Data has made.
    package var indexes: [IndexDefinition]
    /// Core Data's triggers, which call functions that only Apple registers, and R-Trees.
    package var triggers: [String] = []
    package var rTrees: [String] = []
    /// Tables of earlier versions of the model.
    package var leftoverTables: [String] = []
    /// The app's views and triggers on tables that keep their meaning, with their statements.
    package var views: [(name: String, sql: String)] = []
    package var appTriggers: [(name: String, sql: String)] = []
    package var history: HistoryTables?
    /// CloudKit's tables that name entities by number (`ZENTITYID`).
    package var numberedCloudKitTables: [String] = []
    /// Derived attributes under the names of the store; one that is missing is computed anew.
    package var derivedValues: [DerivedValue] = []

    package init(tables: [String: String], indexes: [IndexDefinition]) {
        self.tables = tables
        self.indexes = indexes
    }

    /// The schema of a store that Core Data would make anew, for plans without a store.
    package init(of layout: StoreLayout) {
        let entityTables = layout.tables.values.map { ($0.name.uppercased(), $0.sql) }
        let joinTables = layout.joinTables.map { ($0.name.uppercased(), $0.sql) }
        tables = Dictionary(entityTables + joinTables, uniquingKeysWith: { first, _ in first })
        indexes = layout.indexes
        derivedValues = layout.derivedValues
        triggers = layout.allTriggers.map(\.name)
        rTrees = layout.rTrees.map(\.name)
        for table in layout.joinTables { joinKeys[table.name.uppercased()] = table.keyColumns }
    }
}

/// What several steps in place, one after the other, leave of a schema; one step must leave it as they do.
///
/// Altered tables keep traces of every alteration: the order of their columns, quotes around names.
package struct InPlaceShape: Sendable {
    /// A table as it is in the end.
    package struct Table: Sendable, Hashable {
        package var sql: String
        /// Names of all its columns, in order.
        package var columns: [String]

        package init(sql: String, columns: [String]) {
            self.sql = sql
            self.columns = columns
        }
    }

    /// By upper-case name.
    package var tables: [String: Table]
    /// Indexes on Core Data's tables.
    package var indexes: [IndexDefinition]
    /// Tables of the new version whose rows the steps write.
    package var touched: Set<String>
    /// Upper-case names of tables that altering would leave in another form.
    package var remade: Set<String> = []
    /// Names of indexes that stay, but would say so in other words.
    package var rewritten: Set<String> = []

    package init(tables: [String: Table], indexes: [IndexDefinition], touched: Set<String>) {
        self.tables = tables
        self.indexes = indexes
        self.touched = touched
    }

    func sql(of table: String) -> String? { tables[table.uppercased()]?.sql }

    /// The place of a column in its table.
    func place(of column: String, in table: String) -> Int {
        tables[table.uppercased()]?.columns.firstIndex { $0.uppercased() == column.uppercased() } ?? .max
    }
}
