internal import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryStore

/// What becomes of a store's tables in place: the source of each table of the new version, and what is written.
package struct TableMoves: Sendable, Equatable {
    /// With the source of each column.
    var tables: [TableMove] = []
    var joinTables: [JoinMove] = []
    /// Tables of the new version whose rows are written, by their new names.
    package internal(set) var touched: Set<String> = []
    /// Tables beside those of the model, history for example, whose rows are written.
    package internal(set) var touchedBeside: Set<String> = []
    /// Tables that are dropped, by the names that they have then.
    var dropped: Set<String> = []
    /// The numbers of the entities whose changes in the history are deleted.
    package internal(set) var droppedHistory: [Int64] = []

    /// The names of leftovers of earlier versions that no longer exist after the step.
    package func leftBehind(
        of leftovers: [Leftover], in catalog: StoreCatalog, _ destination: StoreLayout
    ) -> [String] {
        let known = Set(tables.map(\.destination.name) + joinTables.map(\.destination.name))
        let altered = altered
        let indexes = Set(catalog.indexes.map(\.name)).subtracting(destination.indexes.map(\.name))
        let lost = leftovers.filter { leftover in
            switch leftover.kind {
            case .table: known.contains(leftover.table) || catalog.table(leftover.table) == nil
            case .column: altered[leftover.table].flatMap { catalog.table($0)?.column(leftover.part ?? "") } == nil
            case .index: !indexes.contains(leftover.name)
            case .entityName: true
            }
        }
        return lost.map(\.name)
    }

    /// The names, old and new, of the tables whose rows no statement writes.
    package var keptTables: Set<String> {
        var names: Set<String> = []
        for move in tables where !touched.contains(move.destination.name) {
            names.formUnion([move.destination.name, move.source?.name].compactMap { $0 })
        }
        for kept in joinTables.compactMap(\.kept) where !touched.contains(kept.newName) {
            names.formUnion([kept.name, kept.newName])
        }
        // A new table can take the name of a renamed one, and a renamed one that of a dropped one.
        return names.subtracting(touched).subtracting(dropped)
    }

    /// The store's tables whose rows are written or taken from.
    package var writtenTables: Set<String> {
        touchedBeside.union(tables.filter { touched.contains($0.destination.name) }.compactMap(\.source?.name))
            .union(joinTables.filter { touched.contains($0.destination.name) }.compactMap(\.origin))
    }

    /// Altered tables of the store to their new names.
    package var altered: [String: String] {
        Dictionary(uniqueKeysWithValues: tables.compactMap(\.kept).map { ($0.name, $0.newName) })
    }

    var kept: [KeptTable] { tables.compactMap(\.kept) + joinTables.compactMap(\.kept) }
}

/// A table of the store that is altered and may be renamed.
struct KeptTable: Sendable, Equatable {
    let name: String
    let newName: String
    let columns: [String]
    var renames: [Renaming] = []
    var additions: [Column] = []
}

struct Renaming: Sendable, Hashable {
    var from: String
    var to: String
}

/// The facts about a store's schema, beside its layout, that a plan in place needs.
package struct InPlaceSchema: Sendable {
    /// Statements that create ordinary tables, by upper-case table name.
    package var tables: [String: String]
    /// The columns of the primary key, in order, by the upper-case name of a join table.
    package var joinKeys: [String: [String]] = [:]
    /// Core Data's indexes on the model's tables.
    package var indexes: [IndexDefinition]
    /// Core Data's triggers, whose functions only Apple registers, and R-Trees.
    package var triggers: [String] = []
    package var rTrees: [String] = []
    /// Tables of earlier versions of the model.
    package var leftoverTables: [String] = []
    /// The app's views and triggers on tables that keep their meaning.
    package var views: [(name: String, sql: String)] = []
    package var appTriggers: [(name: String, sql: String)] = []
    /// The app's indexes on the model's tables; SQLite drops those of a table that is made anew.
    package var appIndexes: [IndexDefinition] = []
    package var history: HistoryTables?
    package var hasStatistics = false
    /// CloudKit's tables that name entities by number (`ZENTITYID`).
    package var numberedCloudKitTables: [String] = []
    /// Derived attributes of the store; a missing one is computed anew.
    package var derivedValues: [DerivedValue] = []

    package init(tables: [String: String], indexes: [IndexDefinition]) {
        self.tables = tables
        self.indexes = indexes
    }

    /// The schema of a new store, for plans without a store.
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
