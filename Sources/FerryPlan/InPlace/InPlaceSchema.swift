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
