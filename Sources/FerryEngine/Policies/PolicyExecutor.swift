internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of an entity mapping with a migration policy: the policy is called for each source object.
final class PolicyExecutor: MappingExecutor {
    private let calls: PolicyCalls
    private let rows: RowStream
    private let current: MigrationManager.CurrentSource

    init(_ calls: PolicyCalls, in context: StepContext) throws {
        self.calls = calls
        let sql = RowStatements(context: context, mapping: calls.mapping.resolved)
        let plan = try RowPlan(sql, .whenNeeded)
        rows = try RowStream(plan, in: context)
        let writer = try calls.manager.writer(calls.mapping.destinationEntityName)
        current = .init(plan, calls.mapping, SourceRow(plan, for: writer))
    }

    var writesScratch: Bool { true }

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        calls.manager.beginUnit()
        calls.manager.current = current
        defer {
            rows.end()
            calls.manager.current = nil
        }
        try rows.begin(range)
        while let row = try rows.next() {
            outcome.read += 1
            guard row.isTaken else { continue }
            current.number += 1
            current.row.values.row = row
            current.key = row.integer(RowPlan.keyCell)
            (current.isKeyTaken, current.inserted, current.associated) = (false, 0, 0)
            calls.mapping.resetValues()
            let source = SourceObject(
                entity: calls.mapping.sourceEntityName, key: current.key, row: current.number, calls.manager)
            try calls.call {
                try calls.policy.createDestinationInstances(
                    forSource: source, in: calls.mapping, manager: calls.manager)
            }
            if current.inserted > 0 {
                outcome.written += current.inserted
                outcome.created += current.inserted - 1
            } else if current.associated > 0 {
                outcome.merged += 1
            }
        }
        return outcome
    }
}
