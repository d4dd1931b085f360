internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every row is of an entity that its table holds, and of none that is abstract.
///
/// After a migration the counts tell the same (``CountsCheck``).
struct EntityNumbersCheck: Check {
    static let name = "entityNumbers"
    static let isQuick = true
    static let scope = CheckScope.store

    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let tallies = try TableTally.all(context.progress.state.outcomes, in: context)
        for root in context.destination.tables.keys.sorted(by: codeUnitOrder) {
            let table = try context.destinationTable(of: root)
            let rows = try EntityNumbersCheck.rows(
                inTableOf: root, tallies[root], as: EntityNumbersCheck.self, in: context)
            context.report.checked += rows.values.reduce(0, +)
            for (entity, count) in rows.sorted(by: { codeUnitOrder($0.key, $1.key) })
            where context.destinationModel.entities[entity]?.isAbstract == true {
                context.report(EntityNumbersCheck.self, entity: entity, count: count, example: "\(table.name) rows")
            }
        }
    }

    /// The rows of each entity in a destination table; those of no entity of the table are reported.
    ///
    /// - Parameters:
    ///   - root: The table's root entity.
    ///   - tally: What was counted of its rows.
    ///   - check: In whose name they are reported.
    ///   - context: The stores.
    ///   - isExcused: Whether so many rows of a number are as they should be.
    /// - Returns: Rows by entity.
    /// - Throws: ``DatabaseError``.
    static func rows(
        inTableOf root: String, _ tally: TableTally?, as check: any Check.Type, in context: VerificationContext,
        isExcused: (Value, Int64) throws -> Bool = { _, _ in false }
    ) throws -> [String: Int64] {
        let entities = Dictionary(
            context.destination.entityNumbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
        let table = try context.destinationTable(of: root)
        try context.announce(table.name)
        if let tally, tally.hasOnlyKnownEntities { return tally.rowsByEntity }
        var rows: [String: Int64] = [:]
        // Grouped in SQLite's sorter: as many groups as entities, unless the column is damaged.
        let groups = try context.connection.prepare(
            "SELECT Z_ENT, count(*) FROM destination.\(table.name) GROUP BY Z_ENT")
        while try groups.step() {
            let number = groups.integer(0)
            guard !groups.isNull(0), let entity = entities[number], context.destinationModel.root(of: entity) == root
            else {
                if try isExcused(groups.isNull(0) ? .null : .integer(number), groups.integer(1)) { continue }
                context.report(
                    check, entity: root, count: groups.integer(1), example: "\(table.name) Z_ENT \(number)")
                continue
            }
            rows[entity] = groups.integer(1)
        }
        return rows
    }
}
