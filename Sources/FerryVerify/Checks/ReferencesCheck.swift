internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every stored key leads to a row of a fitting entity; entity columns and inverses agree with it.
///
/// The source may have dangling keys; a copy has none, they became empty, and in place they stay.
struct ReferencesCheck: Check {
    static let name = "references"
    static let isQuick = true
    static let scope = CheckScope.any

    /// Each stored relationship.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        keys(in: context).map { key in
            CheckPart(name: Self.name(of: key), subject: nil) { context, outcome in
                outcome.isShown = try check(key, in: context)
            }
        }
    }

    /// What stands beside foreign keys was counted with the rows (``TableTally``); only where that does not come out even
    /// is each key looked at.
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let outcomes = context.progress.state.outcomes
        let tallies = try TableTally.all(outcomes, in: context)
        for key in keys(in: context) {
            guard let keys = try foreignKeys(of: key, in: context), keys.canBeShown else { continue }
            let isSound = tallies[context.destinationModel.root(of: key.entity)]?.hasSoundCompanions(key) ?? false
            if isSound, outcomes[Self.name(of: key)]?.isShown == true { continue }
            try report(keys, of: key, in: context)
        }
    }

    private static func name(of key: PropertyKey) -> String { "references:\(key.entity).\(key.property)" }

    private func keys(in context: VerificationContext) -> [PropertyKey] {
        context.destination.relationshipStorage.filter { !$0.value.isInverse }.keys.sorted()
    }

    private func foreignKeys(of key: PropertyKey, in context: VerificationContext) throws -> ForeignKeys? {
        guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
            case .foreignKey(let table, let column, let entityColumn, let orderColumn)? =
                context.destination.relationshipStorage[key]
        else { return nil }
        var inverseColumn: String?
        if let inverse = StoredRelation.inverse(of: relationship, in: context.destinationModel), inverse != key,
            case .foreignKey(_, let column, _, _)? = context.destination.relationshipStorage[inverse]
        {
            inverseColumn = column
        }
        return ForeignKeys(
            table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn,
            inverseColumn: inverseColumn, other: try context.destinationTable(of: relationship.destinationEntity).name,
            ownNumbers: context.destinationNumbers(ofFamily: key.entity),
            otherNumbers: context.destinationNumbers(ofFamily: relationship.destinationEntity),
            leadToOneEntity: context.destinationModel.family(of: relationship.destinationEntity).count == 1)
    }

    private func report(_ keys: ForeignKeys, of key: PropertyKey, in context: VerificationContext) throws {
        for query in keys.faults {
            try report(
                query, key: "o.Z_PK", value: "o.\(keys.column)", of: key,
                place: { "\(keys.table) Z_PK \($0) \(keys.column)" }, in: context)
        }
    }

    /// - Returns: Whether all is said that can be said without the tally; if not, all must be looked at.
    private func check(_ key: PropertyKey, in context: VerificationContext) throws -> Bool {
        guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
            let storage = context.destination.relationshipStorage[key]
        else { return true }
        let other = try context.destinationTable(of: relationship.destinationEntity).name
        let own = try context.destinationTable(of: key.entity).name
        try context.announce(own)
        let ownNumbers = context.destinationNumbers(ofFamily: key.entity)
        let otherNumbers = context.destinationNumbers(ofFamily: relationship.destinationEntity)
        switch storage {
        case .foreignKey:
            guard let keys = try foreignKeys(of: key, in: context) else { break }
            if keys.canBeShown { return try keys.leadToObjects(on: context.connection) }
            try report(keys, of: key, in: context)
        case .inverseless(let table, let column):
            try report(
                """
                FROM destination.\(table) o LEFT JOIN destination.\(own) t ON t.Z_PK = o.\(column)
                WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(ownNumbers))
                    OR o.Z_ENT NOT IN (\(otherNumbers)))
                """, key: "o.Z_PK", value: "o.\(column)", of: key,
                place: { "\(table) Z_PK \($0) \(column)" }, in: context)
        case .join(let table, let first, let second, let order, _):
            let orderFault = order.map { " OR j.\($0) IS NULL" } ?? ""
            // In the order of the keys that are looked up, the rows that they lead to are met one after another.
            try report(
                """
                FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(second)
                WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))\(orderFault)
                \(order == nil ? "ORDER BY j.\(second), j.\(first)" : "")
                """, key: "j.\(first)", value: "j.\(second)", of: key,
                place: { "\(table) \(first) \($0)" }, in: context)
            if StoredRelation.inverse(of: relationship, in: context.destinationModel) == key {
                try report(
                    """
                    FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(first)
                    WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers)) ORDER BY j.\(first), j.\(second)
                    """, key: "j.\(first)", value: "j.\(second)", of: key,
                    place: { "\(table) \(first) \($0)" }, in: context)
            }
        case .inverseForeignKey: break
        }
        return true
    }

    private func report(
        _ found: String, key: String, value: String, of relationship: PropertyKey, place: (Int64) -> String,
        in context: VerificationContext
    ) throws {
        let statement = try context.connection.prepare("SELECT \(key), \(value) \(found)")
        while try statement.step() {
            let keys = [0, 1].map { statement.isNull($0) ? nil : statement.integer($0) }
            if try context.keptDamage.holds(relationship, holder: keys[0], value: keys[1]) { continue }
            context.report(ReferencesCheck.self, entity: relationship.entity, example: place(statement.integer(0)))
            try context.advance(relationship.property, done: 0, total: nil)
        }
    }
}

extension RelationshipStorage {
    /// Whether it is only the other end of what another relationship stores.
    fileprivate var isInverse: Bool { if case .inverseForeignKey = self { true } else { false } }
}

/// The foreign keys of one column, and what is asked of them.
private struct ForeignKeys {
    let table: String
    let column: String
    let entityColumn: String?
    let orderColumn: String?
    /// The column of the other side, where that holds a key too.
    let inverseColumn: String?
    let other: String
    /// `Z_ENT` of the objects that may hold a key, and of those that it may lead to, for an SQL list.
    let ownNumbers: String
    let otherNumbers: String
    let leadToOneEntity: Bool

    /// Queries without their columns: keys that are wrong, and companions of none.
    var faults: [String] {
        var faults = ["o.Z_ENT NOT IN (\(ownNumbers))", "t.Z_PK IS NULL", "t.Z_ENT NOT IN (\(otherNumbers))"]
        if let entityColumn { faults.append("o.\(entityColumn) IS NOT t.Z_ENT") }
        if let orderColumn { faults.append("o.\(orderColumn) IS NULL") }
        if let inverseColumn { faults.append("t.\(inverseColumn) IS NOT o.Z_PK") }
        var queries = [
            """
            FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (\(faults.joined(separator: " OR ")))
            """
        ]
        // Without a key there is nothing that its companions could say.
        let companions = [entityColumn, orderColumn].compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
        if !companions.isEmpty {
            queries.append(
                "FROM destination.\(table) o WHERE o.\(column) IS NULL AND (\(companions.joined(separator: " OR ")))")
        }
        return queries
    }

    /// Whether it can be seen that all is well without looking each up: where nothing beside them depends on the object
    /// that they lead to.
    var canBeShown: Bool { inverseColumn == nil && (entityColumn == nil || leadToOneEntity) }

    /// Whether each leads to a fitting object; these are met in the order of the keys, which is that of their index.
    func leadToObjects(on connection: Connection) throws -> Bool {
        let lost = try connection.value(
            """
            SELECT 1 FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers)))
            ORDER BY o.\(column) LIMIT 1
            """)
        return lost == nil
    }
}
