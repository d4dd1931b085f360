package import FerryModel
internal import FerrySQLite

/// The numbers of related objects that a relationship allows: one rule for inspection, preflight and verification.
package struct RelationshipLimits: Sendable, Equatable {
    package let isOptional: Bool
    package let least: Int
    package let most: Int?

    /// Nil if any number is valid.
    package init?(_ relationship: Relationship) {
        isOptional = relationship.isOptional
        // A mandatory to-many without a least number may be empty: Core Data saves such objects.
        least = max(relationship.minCount, isOptional || relationship.isToMany ? 0 : 1)
        let isBounded = relationship.isToMany && relationship.maxCount > 1 && relationship.maxCount < Int(Int32.max)
        most = isBounded ? relationship.maxCount : nil
        // An optional relationship with a least count of 1 has no lower limit; a to-one holds one object at most.
        if least <= (isOptional ? 1 : 0), most == nil { return nil }
    }

    /// The SQL condition of a violation; an optional relationship may be empty, whatever its least count is.
    package func violation(of count: String) -> String {
        let few = isOptional ? "(\(count) > 0 AND \(count) < \(least))" : "\(count) < \(least)"
        return most.map { "\(few) OR \(count) > \($0)" } ?? few
    }

    /// SQL that counts the objects whose links in other rows are too few or too many; nil if their own rows have them.
    package func violations(
        of storage: RelationshipStorage, by table: String, where condition: String, schema: String = "main"
    ) -> String? {
        let (links, own, other): (String, String, String)
        switch storage {
        case .foreignKey: return nil
        case .inverseForeignKey(let table, let column, _, _), .inverseless(let table, let column):
            (links, own, other) = (table, column, "Z_PK")
        case .join(let table, let column, let related, _, _): (links, own, other) = (table, column, related)
        }
        return """
            SELECT count(*) FROM (
                SELECT 1 FROM \(SQLName.quoted(schema, table)) AS a
                LEFT JOIN \(SQLName.quoted(schema, links)) AS l ON l.\(Connection.quoted(own)) = a.Z_PK
                WHERE \(condition) GROUP BY a.Z_PK HAVING \(violation(of: "count(l.\(Connection.quoted(other)))")))
            """
    }

    /// Words for the allowed number: `at least 2`, `2 to 3`.
    package var words: String {
        guard let most else { return "at least \(least)" }
        return least > 0 ? "\(least) to \(most)" : "at most \(most)"
    }
}
