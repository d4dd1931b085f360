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

    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    /// Each stored relationship.
    func laterParts(_ outcomes: [String: PartOutcome], in context: VerificationContext) throws -> [CheckPart] {
        let tallies = try TableTally.all(outcomes, in: context)
        return keys(in: context).map { key in
            let tally = tallies[context.destinationModel.root(of: key.entity)]
            return CheckPart(name: "references:\(key.entity).\(key.property)", subject: nil) { context, _ in
                try check(key, tally, in: context)
            }
        }
    }

    private func keys(in context: VerificationContext) -> [PropertyKey] {
        context.destination.relationshipStorage.filter { !$0.value.isInverse }.keys.sorted()
    }

    private func check(_ key: PropertyKey, _ tally: TableTally?, in context: VerificationContext) throws {
        guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
            let storage = context.destination.relationshipStorage[key]
        else { return }
        let other = try context.destinationTable(of: relationship.destinationEntity).name
        let own = try context.destinationTable(of: key.entity).name
        try context.announce(own)
        let ownNumbers = context.destinationNumbers(ofFamily: key.entity)
        let otherNumbers = context.destinationNumbers(ofFamily: relationship.destinationEntity)
        switch storage {
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            var inverseColumn: String?
            if let inverse = StoredRelation.inverse(of: relationship, in: context.destinationModel), inverse != key,
                case .foreignKey(_, let column, _, _)? = context.destination.relationshipStorage[inverse]
            {
                inverseColumn = column
            }
            let keys = ForeignKeys(
                table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn,
                inverseColumn: inverseColumn, other: other, ownNumbers: ownNumbers, otherNumbers: otherNumbers,
                leadToOneEntity: context.destinationModel.family(of: relationship.destinationEntity).count == 1)
            if let tally, tally.hasSoundCompanions(key), try keys.areSound(on: context.connection) { return }
            for query in keys.faults {
                try report(
                    query, key: "o.Z_PK", value: "o.\(column)", of: key, place: { "\(table) Z_PK \($0) \(column)" },
                    in: context)
            }
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

    /// Whether each leads to an object, where that and the tally of what stands beside them (``TableTally``) say all.
    ///
    /// What they lead to is met in the order of the keys, which is that of their index; what stands beside them needs
    /// no look at it, where it can be of one entity only.
    func areSound(on connection: Connection) throws -> Bool {
        guard inverseColumn == nil, entityColumn == nil || leadToOneEntity else { return false }
        let lost = try connection.value(
            """
            SELECT 1 FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)
            WHERE o.\(column) IS NOT NULL AND (t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers)))
            ORDER BY o.\(column) LIMIT 1
            """)
        return lost == nil
    }
}
