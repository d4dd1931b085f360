internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The objects that objects of one entity are related to, for objects that ask in the order of their keys: one walk
/// through all links, instead of a look-up for each object.
final class RelatedWalk {
    /// Owner, related key, its `Z_ENT`.
    private let links: Statement
    /// Whose the link at hand is; nil at the end, and before the beginning.
    private var owner: Int64?
    /// The last object that asked.
    private var last: Int64?
    private var isAtWork = false

    /// - Parameters:
    ///   - storage: Where the relationship's links are.
    ///   - own: The table of the objects that ask.
    ///   - other: The table of those that they are related to.
    ///   - entity: `Z_ENT` of all these, where the links are known to lead to no others; they are not looked up then.
    ///   - connection: With the source.
    /// - Throws: ``DatabaseError``.
    init(
        _ storage: RelationshipStorage, own: String, other: String, entity: Int64?, on connection: Connection
    ) throws(DatabaseError) {
        let sql: String
        switch (storage, entity) {
        case (.foreignKey(_, let column, _, _), let entity?):
            sql = """
                SELECT o.Z_PK, o.\(column), \(entity) FROM source.\(own) o
                WHERE o.Z_PK >= ?1 AND o.\(column) IS NOT NULL ORDER BY o.Z_PK
                """
        case (.join(let table, let first, let second, let order, _), let entity?):
            sql = """
                SELECT j.\(first), j.\(second), \(entity) FROM source.\(table) j
                WHERE j.\(first) >= ?1 AND j.\(second) IS NOT NULL
                ORDER BY j.\(first), \(order.map { "j.\($0), " } ?? "")j.\(second)
                """
        case (.foreignKey(_, let column, _, _), nil):
            sql = """
                SELECT o.Z_PK, t.Z_PK, t.Z_ENT FROM source.\(own) o CROSS JOIN source.\(other) t ON t.Z_PK = o.\(column)
                WHERE o.Z_PK >= ?1 ORDER BY o.Z_PK
                """
        case (.inverseForeignKey(_, let column, _, let order), _):
            sql = """
                SELECT t.\(column), t.Z_PK, t.Z_ENT FROM source.\(other) t WHERE t.\(column) >= ?1
                ORDER BY t.\(column), \(order.map { "t.\($0), " } ?? "")t.Z_PK
                """
        case (.inverseless(_, let column), _):
            sql = """
                SELECT t.\(column), t.Z_PK, t.Z_ENT FROM source.\(other) t WHERE t.\(column) >= ?1
                ORDER BY t.\(column), t.Z_PK
                """
        case (.join(let table, let first, let second, let order, _), nil):
            sql = """
                SELECT j.\(first), t.Z_PK, t.Z_ENT FROM source.\(table) j
                CROSS JOIN source.\(other) t ON t.Z_PK = j.\(second)
                WHERE j.\(first) >= ?1 ORDER BY j.\(first), \(order.map { "j.\($0), " } ?? "")j.\(second)
                """
        }
        links = try connection.prepare(sql)
    }

    /// Whether the walk has not passed an object yet, and nothing is read from it right now.
    func serves(_ key: Int64) -> Bool { !isAtWork && last.map { key > $0 } ?? true }

    /// Calls the body with `Z_PK` and `Z_ENT` of each related object, in order.
    func each(of key: Int64, _ body: (_ key: Int64, _ entity: Int64) throws -> Void) throws {
        isAtWork = true
        defer { isAtWork = false }
        if last == nil {
            try links.bind(key, at: 1)
            try step()
        }
        last = key
        while let owner, owner < key { try step() }
        while owner == key {
            try body(links.integer(1), links.integer(2))
            try step()
        }
    }

    private func step() throws { owner = try links.step() ? links.integer(0) : nil }
}
