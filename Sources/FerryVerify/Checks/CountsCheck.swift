internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The run's counts: each balances, its `read` is what the source has, and the rows of an entity are the sum of what
/// was written.
///
/// The other numbers need the rows themselves and are counted again with them (``RowsCheck``).
struct CountsCheck: Check {
    static let name = "counts"
    static let isQuick = true
    static let scope = CheckScope.migration

    /// What each mapping reads, where the rows do not tell.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        if context.verification.counts == nil || isCountedAgain(in: context) { return [] }
        return context.step.entityMappings.map { mapping in
            CheckPart(name: Self.name(of: mapping), subject: nil) { context, outcome in
                let links = InstanceCount.links(of: mapping, in: context)
                let sound = try links.map { try $0.areSound(in: context) ? [$0] : [] } ?? []
                outcome.counted = try InstanceCount(of: mapping, assuming: Set(sound), in: context).read()
            }
        }
    }

    private static func name(of mapping: ResolvedEntityMapping) -> String { "read by \(mapping.position)" }

    /// Full verification counts again with the rows (``RecountedMappings``); what a policy made cannot be.
    private func isCountedAgain(in context: VerificationContext) -> Bool {
        context.verification.mode == .full && !context.step.hasPolicies
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let outcomes = context.progress.state.outcomes
        let tallies = try TableTally.all(outcomes, in: context)
        guard let reported = context.verification.counts else { return try checkEntityNumbers(tallies, in: context) }
        let counts = Dictionary(reported.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for mapping in context.step.entityMappings {
            guard let count = counts[mapping.name] else {
                context.report(CountsCheck.self, entity: mapping.destination, example: "entity mapping \(mapping.name)")
                continue
            }
            let expected = outcomes[Self.name(of: mapping)]?.counted
            let isSimple = mapping.filter == nil && mapping.unique.isEmpty && mapping.policy == nil
            if !count.balances || expected.map({ $0 != count.read }) ?? false
                || (isSimple && expected != nil && count.written != count.read)
            {
                context.report(CountsCheck.self, entity: mapping.destination, example: "entity mapping \(mapping.name)")
            }
        }
        try checkRows(counts, tallies, in: context)
    }

    /// Without counts of a run only what its rows themselves say.
    private func checkEntityNumbers(_ tallies: [String: TableTally], in context: VerificationContext) throws {
        for root in context.destination.tables.keys.sorted(by: codeUnitOrder) {
            _ = try EntityNumbersCheck.rows(inTableOf: root, tallies[root], as: CountsCheck.self, in: context)
        }
    }

    private func checkRows(
        _ counts: [String: EntityMappingCounts], _ tallies: [String: TableTally], in context: VerificationContext
    ) throws {
        var written: [String: Int64] = [:]
        for mapping in context.step.entityMappings {
            written[mapping.destination, default: 0] += counts[mapping.name]?.written ?? 0
        }
        // What a policy inserted of other entities than its mapping's has counts of its own.
        for count in context.verification.counts ?? [] {
            guard let entity = count.destination, counts[count.name]?.destination != entity else { continue }
            written[entity, default: 0] += count.written
        }
        for root in context.destination.tables.keys.sorted(by: codeUnitOrder) {
            let table = try context.destinationTable(of: root)
            let rows = try EntityNumbersCheck.rows(inTableOf: root, tallies[root], as: CountsCheck.self, in: context) {
                try $1 == context.keptUnknownRows.count($0, in: root)
            }
            for entity in context.destinationModel.family(of: root) {
                let difference = (rows[entity] ?? 0) - (written[entity] ?? 0)
                context.report(
                    CountsCheck.self, entity: entity, count: abs(difference), example: "\(table.name) rows")
            }
        }
    }
}
