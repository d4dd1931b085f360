package import FerryBase
internal import FerryModel
package import FerrySQLite

extension PageWalk {
    /// Walks over the pages of a store, counts the rows of each entity and the values that they lack, and notes the keys of
    /// its relationships; nil where only SQLite can check the pages.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - connection: In a transaction such as ``PageReader`` requires.
    ///   - stop: Ends the walk as it would end a statement.
    /// - Throws: ``DatabaseError``.
    package init?(
        of layout: StoreLayout, on connection: Connection, stop: StopRequest = StopRequest()
    ) throws(DatabaseError) {
        var keys: [String: [String]] = [:]
        for storage in layout.relationshipStorage.values {
            switch storage {
            case .foreignKey(let table, let column, _, _), .inverseless(let table, let column):
                keys[table, default: []].append(column)
            case .join, .inverseForeignKey: break
            }
        }
        try self.init(
            connection,
            counting: layout.tablesInOrder.map { table in
                Counted(table: table.name, column: "Z_ENT", keys: keys[table.name] ?? [])
            }
                + layout.joinTables.map {
                    Counted(table: $0.name, column: nil, keys: [$0.firstColumn, $0.secondColumn])
                },
            stop: stop)
    }

    /// Rows of exactly one entity in which an attribute is empty; nil where that was not counted.
    package func emptyRows(_ column: String, of entity: Int64, in table: String) -> Int64? {
        tallies[table]?.empty(column, of: entity)
    }
}
