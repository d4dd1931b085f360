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

    func run(in context: VerificationContext) throws {
        let keys = context.destination.relationshipStorage.keys.sorted {
            ($0.entity, $0.property) < ($1.entity, $1.property)
        }
        for key in keys {
            guard let relationship = context.destinationModel.relationship(key.property, of: key.entity),
                let storage = context.destination.relationshipStorage[key]
            else { continue }
            let other = try context.destinationTable(of: relationship.destinationEntity).name
            let own = try context.destinationTable(of: key.entity).name
            try context.announce(own)
            let ownNumbers = context.destinationNumbers(ofFamily: key.entity)
            let otherNumbers = context.destinationNumbers(ofFamily: relationship.destinationEntity)
            switch storage {
            case .foreignKey(let table, let column, let entityColumn, let orderColumn):
                var faults = ["o.Z_ENT NOT IN (\(ownNumbers))", "t.Z_PK IS NULL", "t.Z_ENT NOT IN (\(otherNumbers))"]
                if let entityColumn { faults.append("o.\(entityColumn) IS NOT t.Z_ENT") }
                if let orderColumn { faults.append("o.\(orderColumn) IS NULL") }
                if let inverse = StoredRelation.inverse(of: relationship, in: context.destinationModel), inverse != key,
                    case .foreignKey(_, let inverseColumn, _, _)? = context.destination.relationshipStorage[inverse]
                {
                    faults.append("t.\(inverseColumn) IS NOT o.Z_PK")
                }
                let found = "FROM destination.\(table) o LEFT JOIN destination.\(other) t ON t.Z_PK = o.\(column)"
                try report(
                    "\(found) WHERE o.\(column) IS NOT NULL AND (\(faults.joined(separator: " OR ")))",
                    key: "o.Z_PK", value: "o.\(column)", of: key, place: { "\(table) Z_PK \($0) \(column)" },
                    in: context)
                // Without a key there is nothing that its companions could say.
                let companions = [entityColumn, orderColumn].compactMap { $0 }.map { "o.\($0) IS NOT NULL" }
                if !companions.isEmpty {
                    try report(
                        """
                        FROM destination.\(table) o
                        WHERE o.\(column) IS NULL AND (\(companions.joined(separator: " OR ")))
                        """, key: "o.Z_PK", value: "o.\(column)", of: key,
                        place: { "\(table) Z_PK \($0) \(column)" }, in: context)
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
                try report(
                    """
                    FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(second)
                    WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))\(orderFault)
                    """, key: "j.\(first)", value: "j.\(second)", of: key,
                    place: { "\(table) \(first) \($0)" }, in: context)
                if StoredRelation.inverse(of: relationship, in: context.destinationModel) == key {
                    try report(
                        """
                        FROM destination.\(table) j LEFT JOIN destination.\(other) t ON t.Z_PK = j.\(first)
                        WHERE t.Z_PK IS NULL OR t.Z_ENT NOT IN (\(otherNumbers))
                        """, key: "j.\(first)", value: "j.\(second)", of: key,
                        place: { "\(table) \(first) \($0)" }, in: context)
                }
            case .inverseForeignKey: break
            }
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
