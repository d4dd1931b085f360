package import FerryBase
package import FerryModel
package import FerrySQLite

/// The tables and columns that a store should have by its model and does not, as a migration leaves them that another
/// program broke off, and the statements that make them.
package struct MissingParts: Sendable {
    /// A table or a column.
    package struct Part: Sendable, Hashable {
        /// `TABLE`, or `TABLE.COLUMN`.
        package var name: String
        /// The entity or the property to which it belongs.
        package var place: String
        fileprivate var sql: String
    }

    package private(set) var parts: [Part] = []
    /// The parts whose statements no rule tells; the store cannot be repaired then.
    package private(set) var obstacle: FerryError?
    private var indexes: [IndexDefinition] = []
    private var defaults: [(sql: String, values: [Value])] = []
    private let model: ManagedObjectModel

    package var isEmpty: Bool { parts.isEmpty && obstacle == nil }

    /// Finds the missing parts; the store is only read.
    ///
    /// - Throws: ``DatabaseError``; `damagedSource` if the numbers of entities are not readable.
    package init(of model: ManagedObjectModel, on connection: Connection) throws {
        self.model = model
        let catalog = try StoreCatalog(connection)
        let numbers = try StoreLayout.storedNumbers(of: model, on: connection, schema: "main")
        let expected = LayoutBuilder(model, numbers: numbers).layout
        var finder = LayoutFinder(expected: expected, catalog: catalog)
        finder.search()
        for error in finder.missing {
            let found = statements(for: error, in: expected, catalog)
            guard !found.isEmpty else {
                obstacle = error
                return
            }
            // Two columns of one relationship have the same statements.
            parts += found.filter { !parts.contains($0) }
        }
        addIndexes(of: expected)
        addDefaults(of: expected)
    }

    // MARK: Statements

    /// Returns the statements that make a missing part; empty if no rule tells them.
    private func statements(for error: FerryError, in expected: StoreLayout, _ catalog: StoreCatalog) -> [Part] {
        guard let entity = error.place.entity else { return [] }
        guard let property = error.place.property else {
            // A table of another form stays.
            guard let table = expected.table(of: entity), catalog.table(table.name) == nil else { return [] }
            return [Part(name: table.name, place: entity, sql: table.sql)]
        }
        let key = PropertyKey(entity, property)
        if let column = expected.attributeColumns[key], let table = expected.table(of: entity) {
            // A derived value needs its triggers too, which only Core Data makes for certain.
            let isDerived = expected.model.attribute(property, of: entity)?.isDerived == true
            return isDerived ? [] : [add(column, to: table.name, key)]
        }
        switch expected.relationshipStorage[key] {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            let known = catalog.table(table)
            return [column, entityColumn, orderColumn].compactMap { $0 }.filter { known?.column($0) == nil }
                .map { add(Column(name: $0, type: "INTEGER"), to: table, key) }
        case .inverseless(let table, let column):
            return [add(Column(name: column, type: "INTEGER"), to: table, key)]
        case .join(let table, _, _, _, _):
            let join = expected.joinTables.first { $0.name == table && catalog.table(table) == nil }
            return join.map { [Part(name: $0.name, place: key.title, sql: $0.sql)] } ?? []
        case .inverseForeignKey, nil: return []
        }
    }

    private func add(_ column: Column, to table: String, _ key: PropertyKey) -> Part {
        Part(
            name: "\(table).\(column.name)", place: key.title,
            sql: "ALTER TABLE \(Connection.quoted(table)) ADD COLUMN \(column.name) \(column.type)")
    }

    /// The indexes of new tables and columns that the store does not have.
    private mutating func addIndexes(of expected: StoreLayout) {
        let names = Set(parts.map(\.name))
        indexes = expected.indexes.filter { index in
            names.contains(index.table) || (index.columns ?? []).contains { names.contains("\(index.table).\($0)") }
        }
    }

    /// Values for mandatory attributes of rows that are there already; without a default they stay empty.
    private mutating func addDefaults(of expected: StoreLayout) {
        let names = Set(parts.map(\.name))
        for entity in expected.model.sortedEntityNames {
            guard let table = expected.table(of: entity)?.name, let number = expected.number(of: entity) else {
                continue
            }
            for attribute in expected.model.attributes(of: entity) where !attribute.isOptional {
                guard let value = attribute.defaultValue, let column = expected.column(of: attribute.name, in: entity),
                    names.contains("\(table).\(column.name)")
                else { continue }
                defaults.append(
                    (
                        "UPDATE \(Connection.quoted(table)) SET \(column.name) = ? WHERE Z_ENT = ?",
                        [Value(value), .integer(number)]
                    ))
            }
        }
    }

    /// Makes the missing parts, inside the caller's transaction.
    ///
    /// - Precondition: ``obstacle`` is nil.
    package func make(on connection: Connection) throws(DatabaseError) {
        precondition(obstacle == nil, "the statements of all parts are known")
        for part in parts { try connection.execute(part.sql) }
        for (sql, values) in defaults { try connection.run(sql, values) }
        let known = try connection.rows("SELECT upper(name) FROM sqlite_master WHERE type = 'index'")
        let names = Set(known.compactMap(\.[0].text))
        for index in indexes where !names.contains(index.name.uppercased()) { try connection.execute(index.sql) }
    }

    /// Removes the links to objects of the tables that were made, which are gone, and returns their numbers.
    ///
    /// Call it inside the transaction of ``make(on:)``.
    package func removeLinksToLostObjects(on connection: Connection) throws -> [(relationship: String, rows: Int64)] {
        let made = Set(parts.map(\.name))
        let layout = try StoreLayout.actual(for: model, on: connection)
        let isLost = { (entity: String) in layout.table(of: entity).map { made.contains($0.name) } == true }
        var removed: [(relationship: String, rows: Int64)] = []
        try connection.withoutTriggers {
            for (key, storage) in layout.relationshipStorage.inOrder(by: { $0.key < $1.key }) {
                guard let destination = model.relationship(key.property, of: key.entity)?.destinationEntity else {
                    continue
                }
                let table = Connection.quoted(storage.table)
                let columns = storage.columnNames.map(Connection.quoted)
                switch storage {
                case .foreignKey where isLost(destination), .inverseless where isLost(key.entity):
                    let emptied = columns.map { "\($0) = NULL" }.joined(separator: ", ")
                    try connection.execute("UPDATE \(table) SET \(emptied) WHERE \(columns[0]) IS NOT NULL")
                case .join where isLost(destination) || isLost(key.entity):
                    try connection.execute("DELETE FROM \(table)")
                default: continue
                }
                if connection.changes > 0 { removed.append((key.title, connection.changes)) }
            }
        }
        guard !removed.isEmpty else { return [] }
        for value in layout.derivedValues { try connection.run(value.update, StoreCreation.allKeys) }
        return removed
    }
}
