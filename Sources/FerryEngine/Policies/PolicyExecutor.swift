internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of an entity mapping with a migration policy: the policy is called for each source object.
final class PolicyExecutor: MappingExecutor {
    private let calls: PolicyCalls
    private let reader: RowReader
    private let current: MigrationManager.CurrentSource

    init(_ calls: PolicyCalls, in context: StepContext) throws {
        self.calls = calls
        let sql = RowStatements(context: context, mapping: calls.mapping.resolved)
        reader = try RowReader(sql, withAllAttributes: true, on: context.connection)
        let writer = try calls.manager.writer(calls.mapping.destinationEntityName)
        current = .init(reader, calls.mapping, SourceRow(reader, for: writer))
    }

    var writesScratch: Bool { true }

    func carry(_ range: KeyRanges.Range) throws -> ChunkOutcome {
        var outcome = ChunkOutcome()
        calls.manager.beginUnit()
        calls.manager.current = current
        defer {
            reader.select.reset()
            calls.manager.current = nil
        }
        try reader.start(range)
        while try reader.select.step() {
            outcome.read += 1
            guard try reader.isTaken() else { continue }
            current.number += 1
            current.key = reader.select.integer(RowReader.keyPlace)
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
