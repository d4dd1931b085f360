internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The keys of a stored relationship in one column of a store, with the queries that check them.
struct StoredKeys: Sendable {
    let relationship: PropertyKey
    let table: String
    let column: String
    /// Whether the keys are foreign keys in objects' rows, with companion columns that ``TableTally`` counts.
    let areForeign: Bool
    /// Whether the check of a key, without its companion columns, is only that it leads to an object of some entities.
    let needOnlyTargets: Bool
    /// The columns of ``faults`` that a difference names.
    let holder: String
    let value: String
    /// Queries without their columns, each open to more conditions: keys that are wrong, and companion columns of NULL keys.
    let faults: [String]
    /// An order of the keys, in which SQLite reads the related rows in sequence; empty if theirs is that of the holders.
    var order = ""
    /// The column names before and after the key in a difference.
    private let placeOfNumber: (before: String, after: String)
    /// The table of the objects to which the keys lead, and the allowed `Z_ENT`, as an SQL list.
    let other: String
    private let otherNumbers: String
    /// Whether the keys are those of one side of a one-to-one.
    var haveInverse = false

    /// All keys of the destination.
    static func all(in context: VerificationContext) -> [StoredKeys] {
        context.destination.relationshipStorage.keys.sorted().flatMap {
            of($0, in: context.destination, as: "destination")
        }
    }

    func place(of number: Int64) -> String { "\(table) \(placeOfNumber.before) \(number)\(placeOfNumber.after)" }

    /// Whether each key of the destination leads to a valid object; SQLite reads both in the order of the keys' index.
    func leadToObjects(on connection: Connection) throws -> Bool {
        let lost = try connection.value(
            """
            SELECT 1 FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers)))
            ORDER BY o.\(column) LIMIT 1
            """)
        return lost == nil
    }

    // MARK: Kinds of storage

    /// The keys of a relationship in a store that is attached as `schema`.
    static func of(_ key: PropertyKey, in layout: StoreLayout, as schema: String) -> [StoredKeys] {
        let model = layout.model
        guard let relationship = model.relationship(key.property, of: key.entity),
            let storage = layout.relationshipStorage[key],
            let other = layout.table(of: relationship.destinationEntity)?.name,
            let own = layout.table(of: key.entity)?.name
        else { return [] }
        let ownNumbers = layout.numbers(ofFamily: key.entity).sqlList
        let otherNumbers = layout.numbers(ofFamily: relationship.destinationEntity).sqlList
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var back: String?
            if let inverse = model.inverseKey(of: relationship), inverse != key,
                case .foreignKey(_, let column, _, _)? = layout.relationshipStorage[inverse]
            {
                back = column
            }
            // With several entities, the object itself must be read.
            let leadToOneEntity = model.family(of: relationship.destinationEntity).count == 1
            return [
                StoredKeys(
                    relationship: key, table: table, column: column, areForeign: true,
                    needOnlyTargets: back == nil && (entityColumn == nil || leadToOneEntity), holder: "o.Z_PK",
                    value: "o.\(column)",
                    faults: faults(
                        of: "\(schema).\(table)", column, [entityColumn, orderColumn], back, to: "\(schema).\(other)",
                        // A row of another entity in the table does not have the relationship.
                        "o.Z_ENT NOT IN (\(ownNumbers)) OR t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))"),
                    placeOfNumber: ("Z_PK", " \(column)"), other: other, otherNumbers: otherNumbers,
                    haveInverse: back != nil)
            ]
        case .inverseless(let table, let column):
            let query = """
                FROM \(schema).\(table) o LEFT JOIN \(schema).\(own) t ON t.Z_PK = o.\(column)
                WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(ownNumbers))
                    OR o.Z_ENT NOT IN (\(otherNumbers)))
                """
            return [
                StoredKeys(
                    relationship: key, table: table, column: column, areForeign: false, needOnlyTargets: false,
                    holder: "o.Z_PK", value: "o.\(column)", faults: [query],
                    placeOfNumber: ("Z_PK", " \(column)"), other: own, otherNumbers: ownNumbers)
            ]
        case .join(let table, let first, let second, let order, _):
            let isOwnInverse = model.inverseKey(of: relationship) == key
            return [(second, first, order), (first, second, nil)].prefix(isOwnInverse ? 2 : 1).map {
                (column: String, rest: String, order: String?) in
                let fault = order.map { " OR typeof(j.\($0)) <> 'integer'" } ?? ""
                let query = """
                    FROM \(schema).\(table) j LEFT JOIN \(schema).\(other) t ON t.Z_PK = j.\(column)
                    WHERE (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))\(fault))
                    """
                return StoredKeys(
                    relationship: key, table: table, column: column, areForeign: false, needOnlyTargets: order == nil,
                    holder: "j.\(first)", value: "j.\(second)", faults: [query],
                    order: order == nil ? "ORDER BY j.\(column), j.\(rest)" : "", placeOfNumber: (first, ""),
                    other: other, otherNumbers: otherNumbers)
            }
        case .inverseForeignKey: return []
        }
    }

    /// Queries for foreign keys that are wrong, or whose entity column, position or inverse is.
    private static func faults(
        of table: String, _ column: String, _ companions: [String?], _ inverseColumn: String?, to other: String,
        _ wrong: String
    ) -> [String] {
        var wrong = wrong
        if let entityColumn = companions[0] { wrong += " OR o.\(entityColumn) IS NOT t.Z_ENT" }
        if let orderColumn = companions[1] { wrong += " OR typeof(o.\(orderColumn)) <> 'integer'" }
        if let inverseColumn { wrong += " OR t.\(inverseColumn) IS NOT o.Z_PK" }
        let query = """
            FROM \(table) o LEFT JOIN \(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (\(wrong))
            """
        // Without a key, its companion columns must be NULL.
        let alone = companions.compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
        if alone.isEmpty { return [query] }
        let rest = "FROM \(table) o WHERE o.\(column) IS NULL AND (\(alone.joined(separator: " OR ")))"
        return [query, rest]
    }
}
