import FerryBase
import FerryModel
import FerrySQLite
import FerryStore

/// Compares a migrated store with its source, or with a store that Core Data made.
struct StoreComparison {
    let connection: Connection
    /// The schema name of the attached store.
    private let other = "other"

    /// Opens the migrated store, and attaches a copy of the other store.
    init(_ path: String, with other: String) throws {
        connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("ATTACH '\(other)' AS other")
    }

    // MARK: Schema

    /// Returns the tables of entities and relationships that only one store has, or whose columns or types differ.
    func schemaDifferences() throws -> [String] {
        let (own, others) = (try tables("main"), try tables(other))
        var differences = own.subtracting(others).sorted().map { "only ours: \($0)" }
        differences += others.subtracting(own).sorted().map { "only theirs: \($0)" }
        for table in own.intersection(others).sorted() {
            let (columns, theirs) = (try columns(table, "main"), try self.columns(table, other))
            differences += columns.subtracting(theirs).sorted().map { "only ours: \(table).\($0)" }
            differences += theirs.subtracting(columns).sorted().map { "only theirs: \(table).\($0)" }
        }
        let numbers = "SELECT Z_ENT, Z_NAME, Z_SUPER FROM"
        let entities = try connection.integer(
            """
            SELECT (SELECT count(*) FROM (\(numbers) main.Z_PRIMARYKEY EXCEPT \(numbers) other.Z_PRIMARYKEY))
                + (SELECT count(*) FROM (\(numbers) other.Z_PRIMARYKEY EXCEPT \(numbers) main.Z_PRIMARYKEY))
            """)
        if entities != 0 { differences.append("\(entities ?? -1) rows of Z_PRIMARYKEY") }
        return differences
    }

    /// Returns the tables whose columns are equal in both stores, but in another order.
    func columnOrderDifferences() throws -> [String] {
        try tables("main").intersection(tables(other)).sorted().filter { table in
            let orders = try ["main", other].map { schema in
                try connection.rows(
                    "SELECT name FROM pragma_table_info(?, ?) ORDER BY cid", [.text(table), .text(schema)])
            }
            return orders[0] != orders[1] && Set(orders[0].map(\.[0].text)) == Set(orders[1].map(\.[0].text))
        }
    }

    private func tables(_ schema: String) throws -> Set<String> {
        let rows = try connection.rows(
            """
            SELECT name FROM \(schema).sqlite_master WHERE type = 'table' AND name LIKE 'Z%'
                AND name NOT IN ('Z_METADATA', 'Z_MODELCACHE', 'Z_PRIMARYKEY')
            """)
        return Set(rows.compactMap(\.[0].text))
    }

    private func columns(_ table: String, _ schema: String) throws -> Set<String> {
        let rows = try connection.rows(
            "SELECT name || ' ' || type FROM pragma_table_info(?, ?)", [.text(table), .text(schema)])
        return Set(rows.compactMap(\.[0].text))
    }

    // MARK: Rows

    /// Compares every object of the other store that this store's model still has, with its key, its `Z_OPT`, its
    /// values and its related objects.
    ///
    /// - Parameter chain: The versions from the other store's to this store's.
    /// - Returns: The values of the other store that this one lacks, property by property.
    /// - Throws: The error of reading the stores.
    func lost(through chain: [ModelVersion]) throws -> [String] {
        let continued = ContinuedProperties(chain)
        let (newer, older) = (continued.newer, continued.older)
        let own = try StoreLayout.actual(for: newer, on: connection)
        let before = try StoreLayout.actual(for: older, on: connection, schema: other)
        var lost: [String] = []
        for entity in newer.sortedEntityNames {
            guard let old = continued.entity(entity), older.entities[old]?.isAbstract == false,
                newer.entities[entity]?.isAbstract == false, let table = own.table(of: entity),
                let oldTable = before.table(of: old), let number = own.number(of: entity),
                let oldNumber = before.number(of: old)
            else { continue }
            var pairs = [("Z_OPT", "Z_OPT")]
            for attribute in newer.attributes(of: entity) where !attribute.isTransient && !attribute.isDerived {
                guard let source = continued.attribute(attribute.name, of: entity),
                    let column = own.column(of: attribute.name, in: entity),
                    let oldColumn = before.column(of: source.name, in: old)
                else { continue }
                pairs.append((column.name, oldColumn.name))
            }
            for relationship in newer.relationships(of: entity) where !relationship.isTransient {
                guard let source = continued.relationship(relationship.name, of: entity),
                    let storage = own.storage(of: relationship.name, in: entity),
                    let oldStorage = before.storage(of: source.name, in: old)
                else { continue }
                switch (storage, oldStorage) {
                case (.foreignKey(_, let column, _, _), .foreignKey(_, let oldColumn, _, _)):
                    pairs.append((column, oldColumn))
                case (
                    .join(let join, let first, let second, _, _), .join(let oldJoin, let oldFirst, let oldSecond, _, _)
                ):
                    let ours = "SELECT \(first), \(second) FROM main.\(join)"
                    let theirs = "SELECT \(oldFirst), \(oldSecond) FROM other.\(oldJoin)"
                    let count = try self.count("\(theirs) EXCEPT \(ours)") + self.count("\(ours) EXCEPT \(theirs)")
                    if count > 0 { lost.append("\(entity).\(relationship.name): \(count) pairs") }
                default: continue
                }
            }
            let sums = pairs.map {
                "total(a.Z_PK IS NOT NULL AND NOT (a.\($0.0) IS b.\($0.1) AND typeof(a.\($0.0)) = typeof(b.\($0.1))))"
            }
            let found = try connection.rows(
                """
                SELECT total(a.Z_PK IS NULL), \(sums.joined(separator: ", "))
                FROM other.\(oldTable.name) b LEFT JOIN main.\(table.name) a ON a.Z_PK = b.Z_PK AND a.Z_ENT = \(number)
                WHERE b.Z_ENT = \(oldNumber)
                """)[0]
            for (name, value) in zip(["Z_PK"] + pairs.map(\.0), found) {
                guard case .real(let count) = value, count > 0 else { continue }
                lost.append("\(entity).\(name): \(Int64(count))")
            }
        }
        return lost
    }

    private func count(_ select: String) throws -> Int64 {
        try connection.integer("SELECT count(*) FROM (\(select))") ?? 0
    }
}
