package import FerryBase
internal import FerryModel
package import FerrySQLite

extension PageWalk {
    /// Walks over the pages of a store, and counts the rows of each entity and the values that they lack; nil where only
    /// SQLite can check the pages.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - connection: In a transaction such as ``PageReader`` requires.
    ///   - stop: Ends the walk as it would end a statement.
    /// - Throws: ``DatabaseError``.
    package init?(
        of layout: StoreLayout, on connection: Connection, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) {
        try self.init(
            connection, counting: layout.tablesInOrder.map { Counted(table: $0.name, column: "Z_ENT") }, stop: stop)
    }

    /// Rows of exactly one entity in which an attribute is empty; nil where that was not counted.
    package func emptyRows(_ column: String, of entity: Int64, in table: String) -> Int64? {
        tallies[table]?.empty(column, of: entity)
    }
}
