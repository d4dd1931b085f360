internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of an entity mapping with a migration policy: the policy is called for each source object.
final class PolicyExecutor: CountingExecutor {
    private let calls: PolicyCalls
    private let rows: RowStream
    private let current: CurrentSource
    private let associations: PolicyAssociations

    init(_ calls: PolicyCalls, in context: StepContext) throws {
        self.calls = calls
        let plan = try RowPlan(RowStatements(context: context, mapping: calls.mapping.resolved), .aheadOfPolicy)
        rows = try RowStream(plan, in: context)
        current = try CurrentSource(calls, plan, on: context.connection)
        associations = current.associations
    }

    var writesScratch: Bool { true }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        try carry(after: range.low) { try rows.begin(range) }
    }

    var counting: (any CountingExecutor)? { rows.countsRows ? self : nil }

    func carry(after low: Int64, upTo count: Int) throws -> (ChunkOutcome, KeyRange?) {
        let outcome = try carry(after: low) { try rows.begin(after: low, rows: count) }
        return (outcome, try rows.takenRange())
    }

    private func carry(after low: Int64, begin: () throws -> Void) throws -> ChunkOutcome {
        let (manager, mapping, policy) = (calls.manager, calls.mapping, calls.policy)
        var outcome = ChunkOutcome()
        manager.beginUnit()
        manager.current = current
        defer {
            rows.end()
            manager.current = nil
        }
        try associations.beginChunk(after: low)
        try begin()
        var source: SourceObject?
        while let row = try rows.next() {
            outcome.read += 1
            guard row.isTaken else { continue }
            current.begin(row, number: manager.nextRowNumber())
            mapping.resetValues()
            // The object of the row before serves again unless the policy has kept it.
            if !isKnownUniquelyReferenced(&source) { source = SourceObject(current, manager) }
            guard let source else { continue }
            source.stand(for: current.key, row: current.number)
            try calls.call {
                try policy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            }
            try associations.finish(current)
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
