import FerryModel
import FerrySQLite
import FerryStore

/// A store as a plain program reads it: the tables as Core Data names them.
final class StoreSide {
    let model: ManagedObjectModel
    private let connection: Connection
    private let numbers: [String: Int64]
    private var knownKeys: [String: Set<Int64>] = [:]
    private var knownValues: [PropertyKey: [Int64: Value]] = [:]
    private var knownLinks: [PropertyKey: Set<Link>] = [:]

    init(_ path: String, _ model: ManagedObjectModel) throws {
        self.model = model
        connection = try Connection(path: path, mode: .readOnly)
        let rows = try connection.rows("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY")
        numbers = Dictionary(
            rows.map { ($0[0].text ?? "", $0[1].integer ?? 0) }, uniquingKeysWith: { one, _ in one })
    }

    func table(_ entity: String) -> String { "\"Z\(model.root(of: entity).uppercased())\"" }

    /// The keys of exactly an entity's objects.
    func keys(_ entity: String) throws -> Set<Int64> {
        if let known = knownKeys[entity] { return known }
        let keys = Set(
            try connection.rows(
                "SELECT Z_PK FROM \(table(entity)) WHERE Z_ENT = ?", [.integer(numbers[entity] ?? -1)]
            )
            .compactMap { $0[0].integer })
        knownKeys[entity] = keys
        return keys
    }

    /// The entity of the object with a key, of a family.
    func entity(_ key: Int64, in family: [String]) throws -> String? {
        try family.first { try keys($0).contains(key) }
    }

    /// The values of an attribute, without empty ones, by the objects' keys.
    func values(_ attribute: String, of entity: String) throws -> [Int64: Value] {
        if let known = knownValues[PropertyKey(entity, attribute)] { return known }
        let rows = try connection.rows(
            "SELECT Z_PK, \"Z\(attribute.uppercased())\" FROM \(table(entity)) WHERE Z_ENT = ?",
            [.integer(numbers[entity] ?? -1)])
        var values: [Int64: Value] = [:]
        for row in rows where row[1] != .null { values[row[0].integer ?? 0] = row[1] }
        knownValues[PropertyKey(entity, attribute)] = values
        return values
    }

    struct Link: Hashable {
        var from: Int64
        var to: Int64
    }

    /// The links of a relationship that an entity has; nil without an inverse.
    func links(_ name: String, of heir: String) throws -> Set<Link>? {
        guard let relationship = model.relationship(name, of: heir),
            let entity = model.declaringEntity(of: name, in: heir)
        else { return nil }
        if let known = knownLinks[PropertyKey(entity, name)] { return known }
        let links = try links(relationship, declaredBy: entity)
        knownLinks[PropertyKey(entity, name)] = links
        return links
    }

    private func links(_ relationship: Relationship, declaredBy entity: String) throws -> Set<Link>? {
        guard let inverse = model.inverse(of: relationship) else { return nil }
        let (name, other) = (relationship.name.uppercased(), inverse.name.uppercased())
        let sql: String
        if !relationship.isToMany {
            sql = "SELECT Z_PK, \"Z\(name)\" FROM \(table(entity)) WHERE \"Z\(name)\" IS NOT NULL"
        } else if !inverse.isToMany {
            sql =
                "SELECT \"Z\(other)\", Z_PK FROM \(table(relationship.destinationEntity)) "
                + "WHERE \"Z\(other)\" IS NOT NULL"
        } else {
            // A column of a join table begins with the number of the entity whose keys it has; a number may follow.
            let ends = [
                "Z_\(numbers[entity] ?? 0)\(other)", "Z_\(numbers[relationship.destinationEntity] ?? 0)\(name)",
            ]
            let columns = try connection.rows(
                """
                SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
                WHERE m.type = 'table' AND m.name LIKE 'Z\\_%' ESCAPE '\\' AND c.name LIKE 'Z\\_%' ESCAPE '\\'
                """)
            let tables = Dictionary(grouping: columns) { $0[0].text ?? "" }.mapValues { rows in
                ends.map { end in
                    rows.compactMap { $0[1].text }.first {
                        $0.hasPrefix(end) && $0.dropFirst(end.count).allSatisfy(\.isNumber)
                    }
                }
            }
            guard let (table, found) = tables.first(where: { !$0.value.contains(nil) && Set($0.value).count == 2 }),
                let one = found[0], let two = found[1]
            else { return nil }
            sql = "SELECT \"\(one)\", \"\(two)\" FROM \"\(table)\""
        }
        return Set(try connection.rows(sql).map { Link(from: $0[0].integer ?? 0, to: $0[1].integer ?? 0) })
    }
}
