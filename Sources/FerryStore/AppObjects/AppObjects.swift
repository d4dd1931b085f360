package import FerryBase
internal import FerryModel
package import FerrySQLite

/// What a store holds beside what its model explains, and what becomes of it when a new store is made.
///
/// Core Data's own leftovers of earlier versions are dropped. Everything else goes along with its definition and its
/// rows, unless it names a table of Core Data that changes: what it would mean then is not known. Such an object is
/// refused, or dropped where the caller names it.
package struct AppObjects: Sendable {
    /// An index, view, trigger or virtual table that is made by its own statement.
    package struct Object: Sendable, Hashable {
        package var type: String
        package var name: String
        package var sql: String
    }

    /// The app's tables and the shadow tables of its virtual tables.
    package private(set) var tables: [AppTable] = []
    /// The app's virtual tables; their shadow tables are among ``tables``.
    package private(set) var virtualTables: [Object] = []
    /// Indexes and views, in the order in which they were made.
    package private(set) var objects: [Object] = []
    package private(set) var triggers: [Object] = []
    package private(set) var history: HistoryTables?
    package private(set) var mirroring: MirroringTables?
    package private(set) var hasStatistics = false
    /// What earlier versions of the model have left.
    package private(set) var leftovers: [Leftover] = []
    /// What is not carried because the caller asked for that by name.
    package private(set) var dropped: [Object] = []
    package private(set) var refusals: [FerryError] = []

    private let source: StoreLayout
    private let catalog: StoreCatalog
    private let unchanged: UnchangedTables
    private let inPlace: Bool
    /// Upper-case names that were asked to be dropped.
    private let unwanted: Set<String>
    /// The app's computed columns in tables of Core Data, and those of them that are dropped.
    private var generatedColumns: [GeneratedColumn] = []
    private var droppedColumns: [GeneratedColumn] = []

    /// Looks through a store; its catalog is given where it has been read already.
    ///
    /// Objects whose names are among `dropping`, in any case of their letters, are to be left out. In place, tables stay where
    /// they are, so that only views and triggers are made anew.
    package init(
        of source: StoreLayout, into destination: StoreLayout, on connection: Connection, schema: String = "main",
        dropping: Set<String> = [], inPlace: Bool = false, catalog known: StoreCatalog? = nil
    ) throws(DatabaseError) {
        self.source = source
        self.inPlace = inPlace
        unwanted = Set(dropping.map { $0.uppercased() })
        if let known { catalog = known } else { catalog = try StoreCatalog(connection, schema: schema) }
        unchanged = UnchangedTables(source: source, destination: destination, catalog: catalog)
        let sorted = StoreObjects(catalog, layout: source)
        history = try HistoryTables(sorted.historyTables, catalog, on: connection, schema: schema)
        mirroring = try MirroringTables(sorted.cloudKitTables, catalog, on: connection, schema: schema)
        leftovers = try Leftover.all(in: source, sorted, on: connection, schema: schema)
        if history == nil { leftovers += sorted.historyTables.map { Leftover(.table, table: $0) } }
        refuseWhatIsNotSupported()
        try judgeGeneratedColumns(on: connection, schema: schema)
        try addTables(sorted, on: connection, schema: schema)
        addIndexes(sorted)
        for other in catalog.others where sorted.unknownObjects.contains(other.name) && other.type != "virtual table" {
            let object = Object(type: other.type, name: other.name, sql: other.sql)
            // A trigger goes with its table.
            let table = catalog.triggers.first { $0.name == other.name }?.table
            if let table, isDropped(table) { continue }
            guard isCarried(object) else { continue }
            if other.type == "trigger" { triggers.append(object) } else { objects.append(object) }
        }
        let master = SQLName.quoted(schema, "sqlite_master")
        hasStatistics = try connection.integer("SELECT 1 FROM \(master) WHERE name = 'sqlite_stat1'") != nil
        refuseMissing(among: sorted)
        if refusals.isEmpty { try rehearse(destination) }
    }

    /// Refuses names that are asked to be dropped and are not there, so that a slip of the pen does not go unseen.
    private mutating func refuseMissing(among objects: StoreObjects) {
        let found = Set(dropped.map { $0.name.uppercased() })
        for name in unwanted.subtracting(found).sorted() {
            let known = (objects.unknownObjects + generatedColumns.map(\.title)).sorted().joined(separator: ", ")
            refusals.append(
                FerryError(
                    .unknownObject,
                    "There is no \(name) in the store that could be dropped: only what is not Core Data's can be.",
                    remedy: known.isEmpty ? "Leave \(setting: .dropUnknown) out." : "There are: \(known)."))
        }
    }

    /// Makes everything in a database in memory: what needs a collation, function or module that is not here is found
    /// before the run.
    private mutating func rehearse(_ destination: StoreLayout) throws(DatabaseError) {
        let made = tables.compactMap { table in
            table.sql.map { Object(type: "table", name: table.name, sql: $0) }
        }
        let all = (inPlace ? [] : virtualTables + made) + objects + triggers
        guard !all.isEmpty else { return }
        let rehearsal = try Connection(path: ":memory:", mode: .create)
        try StoreCreation.createTables(of: destination, on: rehearsal, hasModelCache: true)
        if inPlace { try makeTablesThatStay(on: rehearsal) }
        for object in all where !inPlace || object.type != "index" {
            do {
                try rehearsal.execute(object.sql)
            } catch {
                refuse(object, "SQLite here cannot make it (\(error.message))")
            }
        }
    }

    /// Tables that stay where they are are no concern but to the triggers on them: one that cannot be made here stands in
    /// with its columns.
    private func makeTablesThatStay(on rehearsal: Connection) throws(DatabaseError) {
        for table in catalog.tables {
            let known = try rehearsal.integer(
                "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE", [.text(table.name)])
            guard known == nil, !table.name.lowercased().hasPrefix("sqlite_") else { continue }
            do {
                try rehearsal.execute(table.sql)
            } catch {
                let columns = table.columns.map { Connection.quoted($0.name) }.joined(separator: ", ")
                try rehearsal.execute("CREATE TABLE \(Connection.quoted(table.name)) (\(columns))")
            }
        }
    }

    private mutating func refuseWhatIsNotSupported() {
        for trigger in catalog.triggers where trigger.name.hasPrefix("ZT_") {
            refusals.append(
                FerryError(
                    .unsupported,
                    "The trigger \(trigger.name) is Core Data's, but of a kind that Ferry cannot make anew.",
                    remedy: "Let the app migrate this store."))
        }
    }

    /// Core Data asks for the columns of a table with what SQLite computes among them, and a table that is made anew has
    /// none.
    private mutating func judgeGeneratedColumns(on connection: Connection, schema: String) throws(DatabaseError) {
        let tables = Set((source.tablesInOrder.map(\.name) + source.joinTables.map(\.name)).map { $0.uppercased() })
        generatedColumns = try GeneratedColumn.all(on: connection, schema: schema)
            .filter { tables.contains($0.table.uppercased()) }
        for column in generatedColumns {
            let object = Object(type: "generated column", name: column.title, sql: "")
            if isUnwanted(object) {
                droppedColumns.append(column)
            } else {
                refuse(object, "the table would not be as Core Data makes it")
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
        for other in catalog.others where other.type == "virtual table" && unknown.contains(other.name) {
            let object = Object(type: other.type, name: other.name, sql: other.sql)
            let own = try Self.shadowTables(of: other.name, on: connection, schema: schema)
            shadows.formUnion(own)
            if isUnwanted(object) { continue }
            guard isCarried(object) else { continue }
            guard inPlace || modules.contains(Self.module(of: other.sql)) else {
                refuse(object, "it needs a module that the SQLite library here does not have")
                continue
            }
            virtualTables.append(object)
            for name in own { tables.append(try AppTable(name, sql: nil, on: connection, schema: schema)) }
        }
        for table in catalog.tables where unknown.contains(table.name) && !shadows.contains(table.name) {
            let object = Object(type: "table", name: table.name, sql: table.sql)
            if isUnwanted(object) { continue }
            guard isCarried(object) else { continue }
            tables.append(try AppTable(table.name, sql: table.sql, on: connection, schema: schema))
        }
    }

    private static func module(of sql: String) -> String {
        let words = SQLNames.names(in: sql)
        guard let position = words.firstIndex(of: "USING"), position + 1 < words.count else { return "" }
        return words[position + 1].lowercased()
    }

    // MARK: Indexes

    /// Core Data names its indexes after the table, or `Z_…` after the entity; others are the app's.
    private mutating func addIndexes(_ objects: StoreObjects) {
        let own = Set(tables.map(\.name))
        let known = Set(source.indexes.map(\.table))
        for index in catalog.indexes {
            let object = Object(type: "index", name: index.name, sql: index.sql)
            if isDropped(index.table) { continue }
            if own.contains(index.table) || !Self.isCoreDatas(index), isUnwanted(object) { continue }
            if own.contains(index.table) {
                // Shadow tables bring their indexes with them.
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

    // MARK: What an object names

    private mutating func isCarried(_ object: Object) -> Bool {
        if object.type != "table", object.type != "virtual table", isUnwanted(object) { return false }
        if let table = unchanged.changedTable(namedIn: object.sql) {
            refuse(object, "it names \(table), a table of Core Data that changes")
            return false
        }
        let gone = unwanted.union(droppedColumns.map { $0.name.uppercased() })
        guard let name = SQLNames.names(in: object.sql).first(where: gone.contains) else { return true }
        refuse(object, "it names \(name), which is dropped")
        return false
    }

    /// What of it could not go through a later step between two layouts.
    package func refusals(from source: StoreLayout, into destination: StoreLayout) -> [FerryError] {
        let later = UnchangedTables(source: source, destination: destination, catalog: catalog)
        let all = virtualTables + objects + triggers
        return all.compactMap { object in
            later.changedTable(namedIn: object.sql).map {
                Self.refusal(of: object, "it names \($0), a table of Core Data that changes")
            }
        }
    }

    /// Notes an object as dropped when its name is among those to be dropped.
    private mutating func isUnwanted(_ object: Object) -> Bool {
        guard unwanted.contains(object.name.uppercased()) else { return false }
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
                Go on without it with \(setting: .dropUnknown, .element(object.name)); the app can make it anew \
                afterwards.
                """)
    }
}

/// A table that goes into a new store with its definition and its rows, as it is.
package struct AppTable: Sendable, Hashable {
    package var name: String
    /// The statement that makes it; nil where another table's does (shadow tables of a virtual table).
    package var sql: String?
    /// Columns that can be written, not quoted.
    package var columnNames: [String]
    /// The name under which the row's number is reached; nil for tables that have none.
    package var rowID: String?

    init(_ name: String, sql: String?, on connection: Connection, schema: String) throws(DatabaseError) {
        self.name = name
        self.sql = sql
        // Generated columns (2 and 3) cannot be written, hidden ones of virtual tables (1) need not be.
        let rows = try connection.rows(
            "SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE hidden = 0 ORDER BY cid", [.text(name), .text(schema)])
        columnNames = rows.compactMap(\.[0].text)
        let hasRowID =
            try connection.integer(
                "SELECT wr FROM pragma_table_list(?1) WHERE schema = ?2", [.text(name), .text(schema)]) == 0
        let used = Set(columnNames.map { $0.lowercased() })
        rowID = hasRowID ? ["rowid", "_rowid_", "oid"].first { !used.contains($0) } : nil
    }

    /// The table's name as it is written in SQL.
    package var quotedName: String { Connection.quoted(name) }

    /// Columns that can be written, as they are written in SQL.
    package var columns: [String] { columnNames.map(Connection.quoted) }

    /// Whether its rows name entities by number, as those of CloudKit's mirroring do.
    package var namesEntities: Bool { columnNames.contains { $0.uppercased() == MirroringTables.numberColumn } }

    /// Copies the rows from the old store to the new one; with `:low` and `:high` where the rows have numbers.
    ///
    /// `value` makes the SQL of a column's value from the column as it is written in SQL.
    package func copy(value: (String) -> String = { $0 }) -> String {
        let target = SQLName.quoted("main", name)
        let origin = SQLName.quoted("source", name)
        let all = columns.joined(separator: ", ")
        let values = columns.map(value).joined(separator: ", ")
        guard let rowID else { return "INSERT INTO \(target) (\(all)) SELECT \(values) FROM \(origin)" }
        return """
            INSERT INTO \(target) (\(rowID), \(all)) SELECT \(rowID), \(values) FROM \(origin)
            WHERE \(rowID) > :low AND \(rowID) <= :high
            """
    }
}

extension AppObjects {
    /// Drops from a store what was asked to be dropped.
    package func drop(on connection: Connection) throws(DatabaseError) {
        // A table takes its indexes and triggers with it, so these go first.
        let order = ["trigger", "index", "view", "table", "virtual table"]
        for type in order {
            for object in dropped where object.type == type {
                let name = Connection.quoted(object.name)
                guard type == "virtual table" else {
                    try connection.execute("DROP \(type.uppercased()) \(name)")
                    continue
                }
                do {
                    try connection.execute("DROP TABLE \(name)")
                } catch {
                    // Its module, or what that needs, is not here: it cannot be asked to take it down.
                    try remove(object, on: connection)
                }
            }
        }
        // What names them is gone by now.
        for column in droppedColumns {
            try connection.execute(
                "ALTER TABLE \(Connection.quoted(column.table)) DROP COLUMN \(Connection.quoted(column.name))")
        }
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

    /// The tables in which a virtual table keeps its content.
    static func shadowTables(
        of name: String, on connection: Connection, schema: String
    ) throws(DatabaseError) -> [String] {
        let listed = try connection.rows(
            "SELECT name FROM pragma_table_list WHERE schema = ?1 AND type = 'shadow'", [.text(schema)])
        return listed.compactMap(\.[0].text).filter { $0.hasPrefix(name + "_") }
    }
}

/// A column whose values SQLite computes (`GENERATED ALWAYS AS`), whether it stores them or not.
///
/// Core Data makes none; `pragma_table_info` does not list them.
private struct GeneratedColumn {
    let table: String
    let name: String

    /// The words by which it is told and asked for.
    var title: String { "\(table).\(name)" }

    /// Those of all ordinary tables, in the order of their making.
    static func all(on connection: Connection, schema: String) throws(DatabaseError) -> [GeneratedColumn] {
        // The columns of a table are asked for where its statement may compute one: nearly all cannot.
        let rows = try connection.rows(
            """
            SELECT t.name, c.name
            FROM \(Connection.quoted(schema)).sqlite_master AS t, pragma_table_xinfo(t.name, ?1) AS c
            WHERE t.type = 'table' AND t.sql LIKE '%AS%(%' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden IN (2, 3)
            ORDER BY t.rowid, c.cid
            """, [.text(schema)])
        return rows.compactMap { row in
            guard let table = row[0].text, let name = row[1].text else { return nil }
            return GeneratedColumn(table: table, name: name)
        }
    }
}
