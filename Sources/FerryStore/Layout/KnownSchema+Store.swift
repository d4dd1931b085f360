internal import FerryBase
package import FerryModel
package import FerrySQLite

extension KnownSchema {
    /// Reads what a store of a model has of Core Data's own.
    ///
    /// What the model does not know is left out: columns, tables and indexes of earlier versions whose columns are gone,
    /// and whatever the app made.
    ///
    /// - Parameters:
    ///   - model: The store's model.
    ///   - connection: The store.
    /// - Throws: `damagedSource`; ``DatabaseError``.
    package init(of model: ManagedObjectModel, on connection: Connection) throws {
        let catalog = try StoreCatalog(connection)
        let layout = try StoreLayout.actual(for: model, on: connection, catalog: catalog)
        let uniqueLists = try Self.uniqueLists(on: connection)
        var known = layout.tables.values.reduce(into: [String: Set<String>]()) { known, table in
            known[table.name] = layout.knownColumns(of: table).union(["Z_PK", "Z_ENT", "Z_OPT"])
        }
        for join in layout.joinTables { known[join.name] = Set(join.columns) }
        var dead: [String: Set<String>] = [:]
        var tables: [Table] = []
        for table in catalog.tables {
            guard let own = known[table.name] else { continue }
            dead[table.name] = Set(table.columns.map(\.name).filter { !own.contains($0) }.map { $0.uppercased() })
            tables.append(
                Table(
                    name: table.name,
                    columns: table.columns.filter { own.contains($0.name) }.map { .init(name: $0.name, type: $0.type) },
                    keyColumns: table.keyColumns,
                    uniqueLists: (uniqueLists[table.name] ?? []).filter { $0.allSatisfy(own.contains) }))
        }
        let indexes = layout.indexes.filter { index in
            guard CarriedObjects.isCoreDatas(index), let gone = dead[index.table] else { return false }
            return gone.isDisjoint(with: SQLNames.names(in: index.sql))
        }
        let rTrees = catalog.others.filter { $0.type == "virtual table" && RTree.isCoreDatas($0.name, sql: $0.sql) }
        let ofRTrees = Set(rTrees.flatMap { tree in ["_INSERT", "_UPDATE", "_DELETE"].map { tree.name + $0 } })
        let triggers = catalog.triggers.filter { $0.name.hasPrefix("Z_DA_") || ofRTrees.contains($0.name) }
        self.init(
            entityNumbers: layout.entityNumbers, tables: tables,
            objects: indexes.map { Object(type: "index", name: $0.name, table: $0.table, sql: $0.sql) }
                + rTrees.map { Object(type: "virtual table", name: $0.name, table: $0.name, sql: $0.sql) }
                + triggers.map { Object(type: "trigger", name: $0.name, table: $0.table, sql: $0.sql) })
    }

    /// By table: the columns of its UNIQUE clauses, in the order in which these stand there.
    private static func uniqueLists(on connection: Connection) throws(DatabaseError) -> [String: [[String]]] {
        let rows = try connection.prepare(
            """
            SELECT t.name, l.name, c.name
            FROM sqlite_master AS t, pragma_index_list(t.name) AS l, pragma_index_info(l.name) AS c
            WHERE t.type = 'table' AND l.origin = 'u' ORDER BY t.rowid, l.seq DESC, c.seqno
            """)
        var lists: [String: [[String]]] = [:]
        var last = ""
        while try rows.step() {
            let (table, index) = (rows.text(0), rows.text(1))
            if index != last { lists[table, default: []].append([]) }
            last = index
            if let place = lists[table]?.indices.last { lists[table]?[place].append(rows.text(2)) }
        }
        return lists
    }
}

extension StoreCatalog {
    /// The schema as if it had been read from the store.
    init(_ known: KnownSchema) {
        self.init(
            tables: known.tables.map { table in
                Table(
                    name: table.name, columns: table.columns.map { Column(name: $0.name, type: $0.type) },
                    keyColumns: table.keyColumns, sql: "")
            },
            indexes: known.objects.filter { $0.type == "index" }.map {
                IndexDefinition(name: $0.name, table: $0.table, sql: $0.sql)
            },
            triggers: known.objects.filter { $0.type == "trigger" }.map {
                TriggerDefinition(name: $0.name, table: $0.table, sql: $0.sql)
            },
            others: known.objects.filter { $0.type == "virtual table" }.map { ($0.type, $0.name, $0.sql) })
    }
}

extension LayoutBuilder {
    /// Gives the layout the names, columns, indexes and triggers of a store of the model.
    mutating func take(_ known: KnownSchema) throws(FerryError) {
        var finder = LayoutFinder(expected: layout, catalog: StoreCatalog(known))
        layout = try finder.find()
        layout.computedIndexNames = nil
        for table in known.tables where !table.uniqueLists.isEmpty {
            guard let root = layout.tables.first(where: { $0.value.name == table.name })?.key else { continue }
            layout.tables[root]?.uniqueLists = table.uniqueLists
        }
    }
}
