internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The keys of a stored relationship in one column of the destination, with the queries that check them.
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
    /// Queries without their columns: keys that are wrong, and companion columns of NULL keys.
    let faults: [String]
    /// The column names before and after the key in a difference.
    private let placeOfNumber: (before: String, after: String)
    /// The table of the objects to which the keys lead, and the allowed `Z_ENT`, as an SQL list.
    let other: String
    private let otherNumbers: String
    /// Whether the keys are those of one side of a one-to-one.
    var haveInverse = false

    static func all(in context: VerificationContext) throws -> [StoredKeys] {
        try context.destination.relationshipStorage.keys.sorted().flatMap { try of($0, in: context) }
    }

    func place(of number: Int64) -> String { "\(table) \(placeOfNumber.before) \(number)\(placeOfNumber.after)" }

    /// Whether each key leads to a valid object; SQLite reads both in the order of the keys' index.
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

    private static func of(_ key: PropertyKey, in context: VerificationContext) throws -> [StoredKeys] {
        guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
            let storage = context.destination.relationshipStorage[key]
        else { return [] }
        let other = try context.destinationTable(of: relationship.destinationEntity).name
        let own = try context.destinationTable(of: key.entity).name
        let ownNumbers = context.destinationNumbers(ofFamily: key.entity)
        let otherNumbers = context.destinationNumbers(ofFamily: relationship.destinationEntity)
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var back: String?
            if let inverse = context.destinationModel.inverseKey(of: relationship), inverse != key,
                case .foreignKey(_, let column, _, _)? = context.destination.relationshipStorage[inverse]
            {
                back = column
            }
            // With several entities, the object itself must be read.
            let leadToOneEntity = context.destinationModel.family(of: relationship.destinationEntity).count == 1
            return [
                StoredKeys(
                    relationship: key, table: table, column: column, areForeign: true,
                    needOnlyTargets: back == nil && (entityColumn == nil || leadToOneEntity), holder: "o.Z_PK",
                    value: "o.\(column)",
                    faults: faults(
                        of: table, column, [entityColumn, orderColumn], back, to: other,
                        "o.Z_ENT NOT IN (\(ownNumbers)) OR t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))"),
                    placeOfNumber: ("Z_PK", " \(column)"), other: other, otherNumbers: otherNumbers,
                    haveInverse: back != nil)
            ]
        case .inverseless(let table, let column):
            let query = """
                FROM destination.\(table) o LEFT JOIN destination.\(own) t ON t.Z_PK = o.\(column)
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
            let isOwnInverse = context.destinationModel.inverseKey(of: relationship) == key
            return [(second, first, order), (first, second, nil)].prefix(isOwnInverse ? 2 : 1).map {
                (column: String, rest: String, order: String?) in
                let fault = order.map { " OR typeof(j.\($0)) <> 'integer'" } ?? ""
                // In key order SQLite reads the related rows in sequence.
                let query = """
                    FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(column)
                    WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))\(fault)
                    \(order == nil ? "ORDER BY j.\(column), j.\(rest)" : "")
                    """
                return StoredKeys(
                    relationship: key, table: table, column: column, areForeign: false, needOnlyTargets: order == nil,
                    holder: "j.\(first)", value: "j.\(second)", faults: [query],
                    placeOfNumber: (first, ""), other: other, otherNumbers: otherNumbers)
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
            FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (\(wrong))
            """
        // Without a key, its companion columns must be NULL.
        let alone = companions.compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
        if alone.isEmpty { return [query] }
        let rest = "FROM destination.\(table) o WHERE o.\(column) IS NULL AND (\(alone.joined(separator: " OR ")))"
        return [query, rest]
    }
}
