internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// The statements that number the objects of ordered relationships.
enum OrderKeys {
    /// SQL of a position.
    ///
    /// - Parameters:
    ///   - place: SQL of the place among the others, from 1.
    ///   - parameters: Takes the numbers.
    /// - Returns: The SQL.
    static func sql(place: String, parameters: inout Parameters) -> String {
        OrderPosition.sql(place: place, step: parameters.add(.integer(OrderPosition.step)))
    }

    /// Gives the rows of groups their positions; see ``OrderPosition``.
    static func number(
        _ column: String, of table: String, key: String, group: String, by order: String, isForGaps: Bool = false
    ) -> RowStatements.SQL {
        var parameters = Parameters()
        let step = parameters.add(.integer(OrderPosition.step))
        return RowStatements.SQL(
            text: OrderPosition.numbering(
                column, of: table, in: "main.", key: key, group: group, by: order, isForGaps: isForGaps, step: step),
            parameters: parameters)
    }

    // MARK: Beside policies

    // A policy may add objects to any relationship, or make several of one. So where a step has policies, positions are
    // settled once all objects are related: what was copied says where an object stands, and nothing yet means last.

    /// Stands for a position that the source lacks: its object comes first.
    private static let beforeAll = Value.integer(.min)

    /// SQL of a position of the source, as it is noted until positions are settled.
    static func noted(_ position: String, parameters: inout Parameters) -> String {
        "ifnull(\(position), \(parameters.add(beforeAll)))"
    }

    /// SQL that tells whether another object among the same ones has the position of this one, and comes before it.
    static func isShared(_ noted: String, among group: String) -> String {
        "\(noted) IS NOT NULL AND \(noted) IS lag(\(noted)) OVER (PARTITION BY \(group) ORDER BY \(noted))"
    }

    /// SQL of a settled position: the noted one where there is one, else one after all that are.
    ///
    /// Among objects of which one lacks its position in the source, or two have the same, all are numbered anew.
    ///
    /// - Parameters:
    ///   - noted: The column of the noted position.
    ///   - shared: The column of ``isShared(_:among:)``.
    ///   - group: The column of the object that the others belong to.
    ///   - order: The column that orders objects without a position, and those with the same.
    ///   - parameters: Takes the numbers.
    /// - Returns: The SQL.
    static func settled(
        _ noted: String, shared: String, among group: String, ordered order: String, parameters: inout Parameters
    ) -> String {
        let step = parameters.add(.integer(OrderPosition.step))
        let first = parameters.add(beforeAll)
        let all = "OVER (PARTITION BY \(group))"
        let place = "row_number() OVER (PARTITION BY \(group) ORDER BY \(noted) IS NULL, \(noted), \(order))"
        let end = "row_number() OVER (PARTITION BY \(group) ORDER BY \(noted) IS NOT NULL, \(order))"
        return """
            CASE WHEN max(\(shared) OR \(noted) IS \(first)) \(all) THEN \(OrderPosition.sql(place: place, step: step))
            ELSE ifnull(\(noted), ifnull(max(\(noted)) \(all), \(step)) + \(step) * \(end)) END
            """
    }

    /// Settles the positions in a one-to-many relationship.
    ///
    /// - Parameters:
    ///   - column: The column of the positions.
    ///   - table: The table of the objects that have them.
    ///   - group: The foreign key.
    /// - Returns: The statement.
    static func settle(_ column: String, of table: String, among group: String) -> RowStatements.SQL {
        var parameters = Parameters()
        let position = settled("noted", shared: "shared", among: "owner", ordered: "k", parameters: &parameters)
        return RowStatements.SQL(
            text: """
                UPDATE main.\(table) AS t SET \(column) = p.place FROM (
                    SELECT k, noted, \(position) AS place FROM (
                        SELECT Z_PK AS k, \(group) AS owner, \(column) AS noted, \(isShared(column, among: group)) AS shared
                        FROM main.\(table) WHERE \(group) IS NOT NULL)) AS p
                WHERE t.Z_PK = p.k AND p.place IS NOT p.noted
                """, parameters: parameters)
    }
}
