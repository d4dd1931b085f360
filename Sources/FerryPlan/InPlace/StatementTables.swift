package import FerryStore

/// The tables that a statement in place reads and writes, by the names that they have when it runs.
package enum StatementTables: Sendable, Hashable {
    /// The schema, or tables of few rows.
    case schema
    /// Inserts rows of a table into another one: those with some entity numbers, or all with nil.
    case fill(String, from: String, rowsOf: [Int64]?, lookups: Int = 0)
    /// Writes columns of the rows with some entity numbers, or of all with nil, in place.
    case update(String, columns: Set<String>, rowsOf: [Int64]? = nil, lookups: Int = 0)
    case delete(from: String, rowsOf: [Int64])
    /// Reads all rows of a table and looks up one of another for each, but changes few.
    case search(String)
    case drop(String)
    case dropIndex(String)
    case index(IndexDefinition)
}
