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

    package var isEmpty: Bool { parts.isEmpty && obstacle == nil }

    /// Finds the missing parts in a copy of the schema in memory; the store is only read.
    ///
    /// - Throws: ``DatabaseError``; `damagedSource` if the numbers of entities are not readable.
    package init(of model: ManagedObjectModel, on connection: Connection) throws {
        do {
            _ = try StoreLayout.actual(for: model, on: connection)
            return
        } catch let error as FerryError where error.code == .damagedSource && error.place.entity != nil {
            // Something is missing; the copy below tells all of it.
        }
        let trial = try Self.schemaInMemory(of: connection)
        let numbers = try StoreLayout.storedNumbers(of: model, on: trial, schema: "main")
        let builder = LayoutBuilder(model, numbers: numbers)
        let expected = builder.layout
        while true {
            do {
                _ = try StoreLayout.actual(for: model, on: trial)
                break
            } catch let error as FerryError where error.code == .damagedSource {
                let known = parts.count
                let found = try statements(for: error, in: expected, on: trial)
                for part in found where !parts.contains(part) {
                    try trial.execute(part.sql)
                    parts.append(part)
                }
                guard parts.count > known else {
                    obstacle = error
                    return
                }
            }
        }
        try addIndexes(of: expected, on: trial)
        addDefaults(of: expected)
    }

    private static func schemaInMemory(of connection: Connection) throws -> Connection {
        let trial = try Connection(path: ":memory:", mode: .create)
        let tables = try connection.rows(
            """
            SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL AND sql NOT LIKE 'CREATE VIRTUAL%'
            AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            """)
        for row in tables { try trial.execute(row[0].text ?? "") }
        let numbers = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY")
        for row in numbers {
            try trial.run(
                "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)", Array(row))
        }
        return trial
    }

    // MARK: Statements

    private func statements(
        for error: FerryError, in expected: StoreLayout, on trial: Connection
    ) throws(DatabaseError) -> [Part] {
        guard let entity = error.place.entity else { return [] }
        guard let property = error.place.property, !property.isEmpty else {
            guard let table = expected.table(of: entity) else { return [] }
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
            let known = try trial.rows("SELECT upper(name) FROM pragma_table_info(?)", [.text(table)])
                .compactMap(\.[0].text)
            return [column, entityColumn, orderColumn].compactMap { $0 }.filter { !known.contains($0.uppercased()) }
                .map { add(Column(name: $0, type: "INTEGER"), to: table, key) }
        case .inverseless(let table, let column):
            return [add(Column(name: column, type: "INTEGER"), to: table, key)]
        case .join(let table, _, _, _, _):
            let join = expected.joinTables.first { $0.name == table }
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
    private mutating func addIndexes(of expected: StoreLayout, on trial: Connection) throws {
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
}
