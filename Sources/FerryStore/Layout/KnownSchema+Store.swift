internal import FerryBase
package import FerryModel
package import FerrySQLite

extension KnownSchema {
    /// Reads the schema of Core Data's objects from a store of a model.
    ///
    /// Omits leftovers of earlier versions (columns, tables, indexes of removed columns) and the app's objects.
    ///
    /// - Throws: `damagedSource`; ``DatabaseError``.
    package init(of model: ManagedObjectModel, on connection: Connection) throws {
        let catalog = try StoreCatalog(connection)
        let layout = try StoreLayout.actual(for: model, on: connection, catalog: catalog)
        let uniqueLists = try Self.uniqueLists(on: connection)
        var known = layout.tables.values.reduce(into: [String: Set<String>]()) { known, table in
            known[table.name] = layout.knownColumns(of: table).union(EntityTable.systemColumns)
        }
        for join in layout.joinTables { known[join.name] = Set(join.columns) }
        var dead: [String: Set<String>] = [:]
        var tables: [Table] = []
        for var table in catalog.tables {
            guard let own = known[table.name] else { continue }
            dead[table.name] = Set(table.columns.map(\.name).filter { !own.contains($0) }.map { $0.uppercased() })
            table.columns.removeAll { !own.contains($0.name) }
            table.uniqueLists = (uniqueLists[table.name] ?? []).filter { $0.allSatisfy(own.contains) }
            // Its text may differ where the schemas are equal.
            table.sql = ""
            tables.append(table)
        }
        let indexes = layout.indexes.filter { index in
            guard AppObjects.isCoreDatas(index), let gone = dead[index.table] else { return false }
            return gone.isDisjoint(with: SQLNames.names(in: index.sql))
        }
        let rTrees = catalog.rTrees
        let ofRTrees = Set(rTrees.flatMap { RTree.triggerNames(of: $0.name) })
        let triggers = catalog.objects.filter {
            $0.type == "trigger" && ($0.name.hasPrefix("Z_DA_") || ofRTrees.contains($0.name))
        }
        self.init(
            entityNumbers: layout.entityNumbers, tables: tables,
            objects: indexes.map { Object(type: "index", name: $0.name, table: $0.table, sql: $0.sql) }
                + rTrees + triggers)
    }

    /// Returns the columns of each table's UNIQUE clauses, in the order of the clauses.
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

extension LayoutBuilder {
    /// Gives the layout the names, columns, indexes and triggers of a store of the model.
    mutating func take(_ known: KnownSchema) throws(FerryError) {
        var finder = LayoutFinder(expected: layout, catalog: StoreCatalog(known))
        layout = try finder.find()
        layout.computedIndexNames = nil
    }
}

/// A join table of a new store whose name or column names do not follow from the model.
package struct OpenJoin: Sendable {
    /// The table with the names of the rules.
    package var table: JoinTable
    /// Whether either relationship may name the table.
    package var isSideOpen: Bool
    /// Whether the suffixes of its columns are unknown: another table of the entity has columns of the same name.
    package var areSuffixesOpen: Bool
    /// The possible names, that of ``table`` first.
    package var names: [String]
}

extension StoreLayout {
    /// Returns a new store's join tables without a rule for their names: on one entity, or with numbered columns.
    package static func openJoins(of model: ManagedObjectModel) -> [OpenJoin] {
        // Ignores known joins, because the caller may look them up elsewhere.
        var model = model
        model.knownJoins = []
        let builder = LayoutBuilder(model)
        return builder.layout.joinTables.compactMap { table in
            guard table.relationship != table.inverse else { return nil }
            if table.relationship.entity == table.inverse.entity {
                let number = builder.numbers[table.inverse.entity] ?? 0
                return OpenJoin(
                    table: table, isSideOpen: true,
                    areSuffixesOpen: builder.ambiguousJoins.contains(table.relationship),
                    names: [table.name, "Z_\(number)\(table.inverse.property.uppercased())"])
            }
            guard builder.ambiguousJoins.contains(table.relationship) else { return nil }
            return OpenJoin(table: table, isSideOpen: false, areSuffixesOpen: true, names: [table.name])
        }
    }

    /// Returns the names that this layout of a store has for an open join table of another model.
    ///
    /// - Returns: Nil if the layout has no such table, or its names are ambiguous.
    package func knownJoin(_ open: OpenJoin, in entity: String) -> KnownJoin? {
        let sides = [open.table.relationship.property, open.table.inverse.property]
        guard
            let found = joinTables.first(where: { table in
                let own = [table.relationship, table.inverse]
                return own.contains { $0.entity == entity && $0.property == sides[0] }
                    && own.contains { $0.property == sides[1] }
            })
        else { return nil }
        let naming =
            open.isSideOpen ? sides.filter { ColumnPattern("Z_#", $0.uppercased()).matches(found.name) } : [sides[0]]
        guard naming.count == 1 else { return nil }
        let isTurned = found.relationship.property != naming[0]
        let (first, second) =
            isTurned ? (found.secondColumn, found.firstColumn) : (found.firstColumn, found.secondColumn)
        let other = sides[0] == naming[0] ? sides[1] : sides[0]
        let key = sides[0] == naming[0] ? open.table.relationship : open.table.inverse
        guard let firstSuffix = Self.suffix(of: first, after: other),
            let secondSuffix = Self.suffix(of: second, after: naming[0])
        else { return nil }
        return KnownJoin(
            entity: key.entity, relationship: key.property, firstSuffix: firstSuffix, secondSuffix: secondSuffix)
    }

    /// The suffix after `Z_<number><PROPERTY>`.
    private static func suffix(of column: String, after property: String) -> String? {
        let rest = column.dropFirst(2).drop { $0.isNumber }
        guard column.hasPrefix("Z_"), rest.uppercased().hasPrefix(property.uppercased()) else { return nil }
        let suffix = rest.dropFirst(property.count)
        return suffix.allSatisfy(\.isNumber) ? String(suffix) : nil
    }
}
