package import FerryStore

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
