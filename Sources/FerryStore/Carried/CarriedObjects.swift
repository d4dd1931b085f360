package import FerryBase
internal import FerryModel
package import FerrySQLite

/// What a store holds beside what its model explains, and what becomes of it when a new store is made.
///
/// Core Data's own leftovers of earlier versions are dropped. Everything else goes along with its definition and its
/// rows, unless it names a table of Core Data that changes: nobody could say what it would mean then.
package struct CarriedObjects: Sendable {
    /// An index, view, trigger or virtual table that is made by its own statement.
    package struct Object: Sendable, Hashable {
        package var type: String
        package var name: String
        package var sql: String
    }

    /// The app's tables and the shadow tables of its virtual tables.
    package private(set) var tables: [CarriedTable] = []
    /// The app's virtual tables; their shadow tables are among ``tables``.
    package private(set) var virtualTables: [Object] = []
    /// Indexes and views, in the order in which they were made.
    package private(set) var objects: [Object] = []
    package private(set) var triggers: [Object] = []
    package private(set) var history: HistoryTables?
    package private(set) var hasStatistics = false
    /// Tables and columns of earlier versions that are left behind, each as `TABLE` or `TABLE.COLUMN`, and indexes.
    package private(set) var leftovers: [String] = []
    package private(set) var refusals: [FerryError] = []

    private let source: StoreLayout
    private let catalog: StoreCatalog
    private let unchanged: UnchangedTables

    /// Looks through a store.
    ///
    /// - Parameters:
    ///   - source: The store's actual layout.
    ///   - destination: The layout of the new store.
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    /// - Throws: ``DatabaseError``.
    package init(
        of source: StoreLayout, into destination: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) {
        self.source = source
        catalog = try StoreCatalog(connection, schema: schema)
        unchanged = UnchangedTables(source: source, destination: destination, catalog: catalog)
        let sorted = StoreObjects(catalog, layout: source)
        leftovers = sorted.leftoverTables
        history = try HistoryTables(sorted.historyTables, catalog, on: connection, schema: schema)
        if history == nil { leftovers += sorted.historyTables }
        refuseWhatIsNotSupported(sorted)
        try addTables(sorted, on: connection, schema: schema)
        addIndexes(sorted)
        for other in catalog.others where sorted.unknownObjects.contains(other.name) && other.type != "virtual table" {
            let object = Object(type: other.type, name: other.name, sql: other.sql)
            guard isCarried(object) else { continue }
            if other.type == "trigger" { triggers.append(object) } else { objects.append(object) }
        }
        let master = SQLName.quoted(schema, "sqlite_master")
        hasStatistics = try connection.integer("SELECT 1 FROM \(master) WHERE name = 'sqlite_stat1'") != nil
        leftovers += deadColumns()
        if refusals.isEmpty { try rehearse(destination) }
    }

    /// Makes everything in a database in memory: what needs a collation, function or module that is not here is found
    /// before the run.
    private mutating func rehearse(_ destination: StoreLayout) throws(DatabaseError) {
        let made = tables.compactMap { table in
            table.sql.map { Object(type: "table", name: table.name, sql: $0) }
        }
        let all = virtualTables + made + objects + triggers
        guard !all.isEmpty else { return }
        let rehearsal = try Connection(path: ":memory:", mode: .create)
        try StoreCreation.createTables(of: destination, on: rehearsal, hasModelCache: true)
        for object in all {
            do {
                try rehearsal.execute(object.sql)
            } catch {
                refuse(object, "SQLite here cannot make it (\(error.message))")
            }
        }
    }

    private mutating func refuseWhatIsNotSupported(_ objects: StoreObjects) {
        if let table = objects.cloudKitTables.first {
            refusals.append(
                FerryError(
                    .unsupported,
                    "The store mirrors its objects to CloudKit (\(table) and \(objects.cloudKitTables.count - 1) other "
                        + "tables), and a copy cannot keep what these tables say about records on the server.",
                    remedy: "Let the app migrate this store, or turn mirroring off and remove these tables first."))
        }
        for trigger in catalog.triggers where trigger.name.hasPrefix("ZT_") {
            refusals.append(
                FerryError(
                    .unsupported,
                    "The trigger \(trigger.name) is Core Data's, but of a kind that Ferry cannot make anew.",
                    remedy: "Let the app migrate this store."))
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
            let listed = try connection.rows(
                "SELECT name FROM pragma_table_list WHERE schema = ?1 AND type = 'shadow'", [.text(schema)])
            let own = listed.compactMap(\.[0].text).filter { $0.hasPrefix(other.name + "_") }
            shadows.formUnion(own)
            guard isCarried(object) else { continue }
            guard modules.contains(Self.module(of: other.sql)) else {
                refuse(object, "it needs a module that the SQLite library here does not have")
                continue
            }
            virtualTables.append(object)
            for name in own { tables.append(try CarriedTable(name, sql: nil, on: connection, schema: schema)) }
        }
        for table in catalog.tables where unknown.contains(table.name) && !shadows.contains(table.name) {
            guard isCarried(Object(type: "table", name: table.name, sql: table.sql)) else { continue }
            tables.append(try CarriedTable(table.name, sql: table.sql, on: connection, schema: schema))
        }
    }

    private static func module(of sql: String) -> String {
        let words = SQLNames.names(in: sql)
        guard let position = words.firstIndex(of: "USING"), position + 1 < words.count else { return "" }
        return words[position + 1].lowercased()
    }

    /// Columns of entity tables that no property of the model has.
    private func deadColumns() -> [String] {
        var used: Set<String> = []
        for (key, column) in source.attributeColumns {
            used.insert("\(source.table(of: key.entity)?.name ?? "").\(column.name)")
        }
        for storage in source.relationshipStorage.values {
            switch storage {
            case .foreignKey(let table, let column, let entity, let order):
                used.formUnion([column, entity, order].compactMap { $0.map { "\(table).\($0)" } })
            case .inverseless(let table, let column): used.insert("\(table).\(column)")
            case .inverseForeignKey, .join: break
            }
        }
        return source.tablesInOrder.flatMap { table in
            table.columns.map { "\(table.name).\($0.name)" }.filter { !used.contains($0) }
        }
    }

    // MARK: Indexes

    /// Core Data names its indexes after the table, or `Z_…` after the entity; others are the app's.
    private mutating func addIndexes(_ objects: StoreObjects) {
        let own = Set(tables.map(\.name))
        let known = Set(source.indexes.map(\.table))
        for index in catalog.indexes {
            let object = Object(type: "index", name: index.name, sql: index.sql)
            if own.contains(index.table) {
                // Shadow tables bring their indexes with them.
                if tables.contains(where: { $0.name == index.table && $0.sql != nil }) { self.objects.append(object) }
            } else if known.contains(index.table), !Self.isCoreDatas(index), isCarried(object) {
                self.objects.append(object)
            }
        }
    }

    private static func isCoreDatas(_ index: IndexDefinition) -> Bool {
        let name = index.name.uppercased()
        return name.hasPrefix("Z_") || name.hasPrefix(index.table.uppercased() + "_")
    }

    // MARK: What an object names

    private mutating func isCarried(_ object: Object) -> Bool {
        guard let table = unchanged.changedTable(namedIn: object.sql) else { return true }
        refuse(object, "it names \(table), a table of Core Data that changes")
        return false
    }

    private mutating func refuse(_ object: Object, _ reason: String) {
        refusals.append(
            FerryError(
                .unknownObject,
                "The \(object.type) \(object.name) is not Core Data's and cannot be carried over: \(reason).",
                remedy: "Remove it from a copy of the store and make it anew after the migration."))
    }
}
