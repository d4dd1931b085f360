package import FerryBase
package import FerryModel
package import FerrySQLite

/// The objects of a store outside its model, and their migration to a new store.
///
/// Ferry drops Core Data's leftovers of earlier versions, and copies other objects with definition and rows. It refuses
/// an object that names what changes in a table of Core Data, whose new meaning is unknown, unless the caller drops it.
package struct AppObjects: Sendable {
    /// A table, index, view, trigger or virtual table with its CREATE statement, or a generated column.
    package typealias Object = KnownSchema.Object

    /// The app's tables and the shadow tables of its virtual tables.
    package private(set) var tables: [AppTable] = []
    /// The app's virtual tables; ``tables`` has their shadow tables.
    package private(set) var virtualTables: [Object] = []
    /// In the order of their creation.
    package private(set) var objects: [Object] = []
    package private(set) var triggers: [Object] = []
    package private(set) var history: HistoryTables?
    package private(set) var mirroring: MirroringTables?
    package private(set) var hasStatistics = false
    package private(set) var leftovers: [Leftover] = []
    /// Objects that the caller drops by name.
    package private(set) var dropped: [Object] = []
    package private(set) var refusals: [FerryError] = []

    /// Whether the store has nothing that its model does not explain, but leftovers.
    package var isEmpty: Bool {
        tables.isEmpty && virtualTables.isEmpty && objects.isEmpty && triggers.isEmpty && history == nil
            && mirroring == nil && !hasStatistics
    }

    private let source: StoreLayout
    private let catalog: StoreCatalog
    private let changes: TableChanges
    private let inPlace: Bool
    private let namesToDrop: Set<String>
    /// The app's generated columns in tables of Core Data, and those to drop.
    private var generatedColumns: [(table: String, name: String)] = []
    private var droppedColumns: [(table: String, name: String)] = []

    /// Reads the schema of a store, unless the caller passes its catalog.
    ///
    /// `dropping` has names of any case to drop. In place, tables stay, and only views and triggers are made anew.
    package init(
        of source: StoreLayout, into destination: StoreLayout, on connection: Connection, schema: String = "main",
        dropping: Set<String> = [], inPlace: Bool = false, catalog known: StoreCatalog? = nil
    ) throws(DatabaseError) {
        self.source = source
        self.inPlace = inPlace
        namesToDrop = Set(dropping.map { $0.uppercased() })
        if let known { catalog = known } else { catalog = try StoreCatalog(connection, schema: schema) }
        changes = TableChanges(source: source, destination: destination, catalog: catalog)
        let sorted = StoreObjects(catalog, layout: source)
        history = try HistoryTables(sorted.historyTables, catalog, on: connection, schema: schema)
        mirroring = try MirroringTables(sorted.cloudKitTables, catalog, on: connection, schema: schema)
        leftovers = try Leftover.all(in: source, sorted, on: connection, schema: schema)
        if history == nil { leftovers += sorted.historyTables.map { Leftover(kind: .table, table: $0) } }
        refuseUnsupportedTriggers()
        addGeneratedColumns()
        try addTables(sorted, on: connection, schema: schema)
        addIndexes(sorted)
        for object in catalog.others
        where sorted.unknownObjects.contains(object.name) && object.type != "virtual table" {
            // A dropped table drops its triggers.
            if object.type == "trigger", isDropped(object.table) { continue }
            guard isCarried(object) else { continue }
            if object.type == "trigger" { triggers.append(object) } else { objects.append(object) }
        }
        let master = SQLName.quoted(schema, "sqlite_master")
        hasStatistics = try connection.integer("SELECT 1 FROM \(master) WHERE name = 'sqlite_stat1'") != nil
        refuseMissing(among: sorted)
        if refusals.isEmpty { try tryToCreate(destination) }
    }

    /// Refuses names to drop that do not exist, because they may be typing errors.
    private mutating func refuseMissing(among objects: StoreObjects) {
        let found = Set(dropped.map { $0.name.uppercased() })
        for name in namesToDrop.subtracting(found).sorted() {
            let known = (objects.unknownObjects + generatedColumns.map { "\($0.table).\($0.name)" }).sorted().joined(
                separator: ", ")
            refusals.append(
                FerryError(
                    .unknownObject,
                    "The store has no object \(name) that can be dropped: only objects that are not Core Data's can be.",
                    remedy: known.isEmpty ? "Leave \(setting: .removals) out." : "There are: \(known)."))
        }
    }

    /// Creates all objects in a database in memory, to find missing collations, functions and modules before the run.
    private mutating func tryToCreate(_ destination: StoreLayout) throws(DatabaseError) {
        let made = tables.compactMap { table in
            table.sql.map { Object(type: "table", name: table.name, sql: $0) }
        }
        let all = (inPlace ? [] : virtualTables + made) + objects + triggers
        guard !all.isEmpty else { return }
        let trial = try Connection(path: ":memory:", mode: .create)
        try StoreCreation.createTables(of: destination, on: trial, hasModelCache: true)
        if inPlace { try createKeptTables(on: trial) }
        for object in all where !inPlace || object.type != "index" {
            do {
                try trial.execute(object.sql)
            } catch {
                refuse(object, "this SQLite cannot create it (\(error.message))")
            }
        }
    }

    /// Creates tables that stay, for triggers on them; a plain table with the same columns replaces a failed one.
    private func createKeptTables(on trial: Connection) throws(DatabaseError) {
        for table in catalog.tables {
            let known = try trial.integer(
                "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE", [.text(table.name)])
            guard known == nil, !table.name.lowercased().hasPrefix("sqlite_") else { continue }
            do {
                try trial.execute(table.sql)
            } catch {
                let columns = table.columns.map { Connection.quoted($0.name) }.joined(separator: ", ")
                try trial.execute("CREATE TABLE \(Connection.quoted(table.name)) (\(columns))")
            }
        }
    }

    private mutating func refuseUnsupportedTriggers() {
        for trigger in catalog.triggers where trigger.name.hasPrefix("ZT_") {
            refusals.append(
                FerryError(
                    .unsupported,
                    "The trigger \(trigger.name) is Core Data's, but of a kind that Ferry cannot recreate.",
                    remedy: "Let the app migrate this store."))
        }
    }

    /// Drops or refuses generated columns: Core Data's queries for columns include them, and a new table has none.
    private mutating func addGeneratedColumns() {
        let tables = Set((source.tablesInOrder.map(\.name) + source.joinTables.map(\.name)).map { $0.uppercased() })
        generatedColumns = catalog.generatedColumns.filter { tables.contains($0.table.uppercased()) }
        for column in generatedColumns {
            let object = Object(type: "generated column", name: "\(column.table).\(column.name)", sql: "")
            if notesAsDropped(object) {
                droppedColumns.append(column)
            } else {
                refuse(object, "the table would differ from Core Data's")
            }
        }
    }

    // MARK: Tables

    private mutating func addTables(
        _ objects: StoreObjects, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        let listed = try connection.rows("SELECT name FROM pragma_module_list").compactMap(\.[0].text)
        let modules = Set(listed.map { $0.lowercased() })
        let unknown = Set(objects.unknownObjects)
        var shadows: Set<String> = []
        for object in catalog.others where object.type == "virtual table" && unknown.contains(object.name) {
            let own = try Self.shadowTables(of: object.name, on: connection, schema: schema)
            shadows.formUnion(own)
            if notesAsDropped(object) { continue }
            guard isCarried(object) else { continue }
            guard inPlace || modules.contains(Self.module(of: object.sql)) else {
                refuse(object, "it needs a module that this SQLite library does not have")
                continue
            }
            virtualTables.append(object)
            for name in own {
                tables.append(try AppTable(name, in: catalog, isShadow: true, on: connection, schema: schema))
            }
        }
        for table in catalog.tables where unknown.contains(table.name) && !shadows.contains(table.name) {
            let object = Object(type: "table", name: table.name, sql: table.sql)
            if notesAsDropped(object) { continue }
            guard isCarried(object) else { continue }
            tables.append(try AppTable(table.name, in: catalog, on: connection, schema: schema))
        }
    }

    private static func module(of sql: String) -> String {
        let words = SQLNames.names(in: sql)
        guard let position = words.firstIndex(of: "USING"), position + 1 < words.count else { return "" }
        return words[position + 1].lowercased()
    }

    // MARK: Indexes

    /// Core Data's index names begin with `Z_` or the table's name; other indexes are the app's.
    private mutating func addIndexes(_ objects: StoreObjects) {
        let own = Set(tables.map(\.name))
        let known = Set(source.indexes.map(\.table))
        for index in catalog.indexes {
            let object = Object(type: "index", name: index.name, sql: index.sql)
            if isDropped(index.table) { continue }
            if own.contains(index.table) || !Self.isCoreDatas(index), notesAsDropped(object) { continue }
            if own.contains(index.table) {
                // The virtual table makes the indexes of its shadow tables.
                if tables.contains(where: { $0.name == index.table && $0.sql != nil }) { self.objects.append(object) }
            } else if known.contains(index.table), !Self.isCoreDatas(index), isCarried(object) {
                self.objects.append(object)
            }
        }
    }

    static func isCoreDatas(_ index: IndexDefinition) -> Bool {
        let name = index.name.uppercased()
        return name.hasPrefix("Z_") || name.hasPrefix(index.table.uppercased() + "_")
    }

    // MARK: Refusals

    private mutating func isCarried(_ object: Object) -> Bool {
        if object.type != "table", object.type != "virtual table", notesAsDropped(object) { return false }
        if let name = changes.changedName(in: object.sql) {
            refuse(object, "it names \(name)")
            return false
        }
        let gone = namesToDrop.union(droppedColumns.map { $0.name.uppercased() })
        guard let name = SQLNames.names(in: object.sql).first(where: gone.contains) else { return true }
        refuse(object, "it names \(name), which is dropped")
        return false
    }

    package func refusals(from source: StoreLayout, into destination: StoreLayout) -> [FerryError] {
        let later = TableChanges(source: source, destination: destination, catalog: catalog)
        let all = virtualTables + objects + triggers
        return all.compactMap { object in
            later.changedName(in: object.sql).map { Self.refusal(of: object, "it names \($0)") }
        }
    }

    private mutating func notesAsDropped(_ object: Object) -> Bool {
        guard namesToDrop.contains(object.name.uppercased()) else { return false }
        dropped.append(object)
        return true
    }

    private func isDropped(_ table: String) -> Bool {
        let types = ["table", "virtual table", "view"]
        return dropped.contains { $0.name.uppercased() == table.uppercased() && types.contains($0.type) }
    }

    private mutating func refuse(_ object: Object, _ reason: String) {
        refusals.append(Self.refusal(of: object, reason))
    }

    private static func refusal(of object: Object, _ reason: String) -> FerryError {
        FerryError(
            .unknownObject,
            "The \(object.type) \(object.name) is not Core Data's and cannot be carried over: \(reason).",
            remedy: """
                Continue without it with \(setting: .removals, .element(object.name)); the app can recreate it \
                afterwards.
                """)
    }
}

/// A table that Ferry copies unchanged, with its definition and its rows.
package struct AppTable: Sendable, Hashable {
    package var name: String
    /// The CREATE statement; nil for shadow tables, which the virtual table makes.
    package var sql: String?
    /// Writable columns, not quoted.
    package var columnNames: [String]
    /// The name of the row id; nil for tables without one.
    package var rowID: String?

    init(
        _ name: String, in catalog: StoreCatalog, isShadow: Bool = false, on connection: Connection, schema: String
    ) throws(DatabaseError) {
        let table = catalog.table(name)
        self.name = name
        sql = isShadow ? nil : table?.sql
        columnNames = table?.columns.map(\.name) ?? []
        let hasRowID =
            try connection.integer(
                "SELECT wr FROM pragma_table_list(?1) WHERE schema = ?2", [.text(name), .text(schema)]) == 0
        let used = Set(columnNames.map { $0.lowercased() })
        rowID = hasRowID ? ["rowid", "_rowid_", "oid"].first { !used.contains($0) } : nil
    }

    package var quotedName: String { Connection.quoted(name) }

    package var columns: [String] { columnNames.map(Connection.quoted) }

    /// Whether its rows name entities by number, as in CloudKit's mirroring tables.
    package var namesEntities: Bool { columnNames.contains { $0.uppercased() == MirroringTables.numberColumn } }
}

extension AppObjects {
    /// The statements that drop what the caller names.
    package var dropStatements: [String] { objectsToDrop.map(Self.dropping) + columnsToDrop }

    package func drop(on connection: Connection) throws(DatabaseError) {
        for object in objectsToDrop {
            do {
                try connection.execute(Self.dropping(object))
            } catch {
                guard object.type == "virtual table" else { throw error }
                // Its module, or a dependency of the module, is missing, so SQLite cannot drop the virtual table.
                try remove(object, on: connection)
            }
        }
        for statement in columnsToDrop { try connection.execute(statement) }
    }

    /// DROP TABLE also drops indexes and triggers, so these come first.
    private var objectsToDrop: [Object] {
        ["trigger", "index", "view", "table", "virtual table"].flatMap { type in dropped.filter { $0.type == type } }
    }

    /// The objects that name these columns are dropped before.
    private var columnsToDrop: [String] {
        droppedColumns.map {
            "ALTER TABLE \(Connection.quoted($0.table)) DROP COLUMN \(Connection.quoted($0.name))"
        }
    }

    private static func dropping(_ object: Object) -> String {
        let type = object.type == "virtual table" ? "table" : object.type
        return "DROP \(type.uppercased()) \(Connection.quoted(object.name))"
    }

    private func remove(_ object: Object, on connection: Connection) throws(DatabaseError) {
        let shadows = try Self.shadowTables(of: object.name, on: connection, schema: "main")
        connection.allowSchemaWrites()
        try connection.execute("PRAGMA writable_schema = ON")
        try connection.run(
            "DELETE FROM main.sqlite_master WHERE type = 'table' AND name = ? AND rootpage = 0", [.text(object.name)])
        try connection.execute("PRAGMA writable_schema = RESET")
        for shadow in shadows { try connection.execute("DROP TABLE \(Connection.quoted(shadow))") }
    }

    static func shadowTables(
        of name: String, on connection: Connection, schema: String
    ) throws(DatabaseError) -> [String] {
        let listed = try connection.rows(
            "SELECT name FROM pragma_table_list WHERE schema = ?1 AND type = 'shadow'", [.text(schema)])
        return listed.compactMap(\.[0].text).filter { $0.hasPrefix(name + "_") }
    }
}
