package import FerryStore

/// The tables that decide how long a statement takes, by the names that they have when it runs.
package enum StatementTables: Sendable, Hashable {
    /// The schema, or tables of few rows.
    case schema
    /// Writes rows of a table for those that it reads, in the same table or another one.
    case rows(String, from: String)
    /// Reads all rows of a table and looks up one of another for each, but changes few.
    case search(String)
    case drop(String)
    case index(IndexDefinition)
}
