internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The run's counts: each balances, `read` equals the source's rows, and the sum written equals an entity's rows.
///
/// ``RowsCheck`` counts the other numbers again, since they need the rows.
struct CountsCheck: Check {
    static let name = "counts"
    static let scope = CheckScope.migration

    /// Counts the objects that each mapping reads, unless ``RowsCheck`` does.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        // Full verification counts again with the rows (``RecountedMappings``); it cannot with policies.
        let isCountedAgain = context.verification.mode == .full && !context.step.hasPolicies
        if context.verification.counts == nil || isCountedAgain { return [] }
        // A table that no statement could write has as many rows as before; the run did not count them.
        return try context.step.entityMappings.filter {
            try !context.verification.kept.contains(context.destinationTable(of: $0.destination).name)
        }.map { mapping in
            CheckPart(name: Self.name(of: mapping), subject: nil) { context, outcome in
                outcome.counted = try InstanceCount.read(by: mapping, context)
            }
        }
    }

    private static func name(of mapping: ResolvedEntityMapping) -> String { "read by \(mapping.position)" }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let outcomes = context.progress.state.outcomes
        let tallies = try TableTally.all(in: context)
        guard let reported = context.verification.counts else { return try checkEntityNumbers(tallies, in: context) }
        let counts = Dictionary(first: reported.map { ($0.name, $0) })
        for mapping in context.step.entityMappings {
            guard let count = counts[mapping.name] else {
                context.report(CountsCheck.self, entity: mapping.destination, example: "entity mapping \(mapping.name)")
                continue
            }
            if count.isEstimated == true { continue }
            let expected = outcomes[Self.name(of: mapping)]?.counted
            let isSimple = mapping.filter == nil && mapping.unique.isEmpty && mapping.policy == nil
            if !count.balances || expected.map({ $0 != count.read }) ?? false
                || (isSimple && expected != nil && count.written != count.read)
            {
                context.report(CountsCheck.self, entity: mapping.destination, example: "entity mapping \(mapping.name)")
            }
        }
        try checkRows(reported, tallies, in: context)
    }

    private func checkEntityNumbers(_ tallies: [String: TableTally], in context: VerificationContext) throws {
        for table in context.destinationTables {
            _ = try EntityNumbersCheck.rows(in: table, tallies[table.root], as: CountsCheck.self, in: context)
        }
    }

    private func checkRows(
        _ counts: [EntityMappingCounts], _ tallies: [String: TableTally], in context: VerificationContext
    ) throws {
        // A policy's inserts into entities other than its mapping's have counts of their own.
        var written: [String: Int64] = [:]
        for count in counts { written[count.destination ?? "", default: 0] += count.written }
        let estimated = Set(counts.filter { $0.isEstimated == true }.compactMap(\.destination))
        for table in context.destinationTables where !context.verification.kept.contains(table.name) {
            var unknown: Int64 = 0
            let rows = try EntityNumbersCheck.rows(in: table, tallies[table.root], as: CountsCheck.self, in: context) {
                unknown += $1
                return try $1 == context.keptUnknownRows.count($0, in: table.root)
            }
            // A step on the store itself leaves these, unless it drops damage.
            if context.isInTransaction, !context.verification.dropsMissingContents {
                let missing = try context.keptUnknownRows.count(in: table.root) - unknown
                context.report(
                    CountsCheck.self, entity: nil, count: missing, example: "\(table.name) rows of no known entity")
            }
            for entity in context.destinationModel.family(of: table.root) where !estimated.contains(entity) {
                let difference = (rows[entity] ?? 0) - (written[entity] ?? 0)
                context.report(
                    CountsCheck.self, entity: entity, count: abs(difference), example: "\(table.name) rows")
            }
        }
    }
}

/// Every row belongs to a non-abstract entity of its table; after a migration ``CountsCheck`` shows this.
struct EntityNumbersCheck: Check {
    static let name = "entityNumbers"
    static let scope = CheckScope.store

    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let tallies = try TableTally.all(in: context)
        for table in context.destinationTables {
            let rows = try EntityNumbersCheck.rows(
                in: table, tallies[table.root], as: EntityNumbersCheck.self, in: context)
            context.report.checked += rows.values.reduce(0, +)
            for (entity, count) in rows.inOrder(by: { codeUnitOrder($0.key, $1.key) })
            where context.destinationModel.entities[entity]?.isAbstract == true {
                context.report(EntityNumbersCheck.self, entity: entity, count: count, example: "\(table.name) rows")
            }
        }
    }

    /// The rows of each entity in a destination table; rows with any other `Z_ENT` are reported as differences of the
    /// check, unless `isExcused` accepts their number.
    static func rows(
        in table: EntityTable, _ tally: TableTally?, as check: any Check.Type, in context: VerificationContext,
        isExcused: (Value, Int64) throws -> Bool = { _, _ in false }
    ) throws -> [String: Int64] {
        try context.announce(table.name)
        if let tally, tally.hasOnlyKnownEntities { return tally.rowsByEntity }
        var rows: [String: Int64] = [:]
        // SQLite's sorter groups the rows: as many groups as entities, unless the column is damaged.
        let groups = try context.connection.prepare(
            "SELECT Z_ENT, count(*) FROM destination.\(table.name) GROUP BY Z_ENT")
        while try groups.step() {
            // Core Data does not find a row with a fraction, text or BLOB here, which SQLite reads as a number.
            let isInteger = groups.storageClass(0) == .integer
            guard isInteger, let entity = context.destinationEntities[groups.integer(0)],
                context.destinationModel.root(of: entity) == table.root
            else {
                if try isExcused(groups.value(0), groups.integer(1)) { continue }
                let found = isInteger ? "\(groups.integer(0))" : "that is not an integer"
                context.report(
                    check, entity: table.root, count: groups.integer(1), example: "\(table.name) Z_ENT \(found)")
                continue
            }
            rows[entity] = groups.integer(1)
        }
        return rows
    }
}
