internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite

/// Runs a step's policies in Core Data's three passes; a hook that runs once is a unit, so a resumed run skips it.
final class PolicyRun {
    private let context: StepContext
    private let manager: MigrationManager
    private let calls: [Int: PolicyCalls]

    init(_ context: StepContext, policies: PolicyRegistry) throws {
        self.context = context
        manager = MigrationManager(context)
        var calls: [Int: PolicyCalls] = [:]
        for mapping in context.step.resolved.entityMappings {
            guard let name = mapping.policy else { continue }
            guard let policy = policies.make(name) else {
                throw FerryError(
                    .missingPolicy,
                    "Entity mapping \(mapping.name) has the migration policy \(name), which is not registered.",
                    remedy: "Register it where the migration is started.", place: .init(entityMapping: mapping.name))
            }
            calls[mapping.position] = PolicyCalls(policy, manager.entityMappings[mapping.position], manager)
        }
        self.calls = calls
    }

    deinit { manager.end() }

    // MARK: First pass

    /// Begins the pass of entity mappings, given by their positions.
    func beginPass(_ positions: [Int]) throws {
        guard !calls.isEmpty else { return }
        manager.rowsToCome = try RowsToCome(after: positions, in: context)
    }

    func executor(of mapping: ResolvedEntityMapping) throws -> (any MappingExecutor)? {
        try calls[mapping.position].map { try PolicyExecutor($0, in: context) }
    }

    func begin(_ mapping: ResolvedEntityMapping) throws {
        try hook("begin", of: mapping, .rows) { try $0.policy.begin($0.mapping, with: manager) }
    }

    func endInstanceCreation(_ mapping: ResolvedEntityMapping) throws {
        try hook("endInstances", of: mapping, .rows) {
            try $0.policy.endInstanceCreation(forMapping: $0.mapping, manager: manager)
        }
    }

    /// Records what policies changed, and the objects that they inserted beyond those of their mappings' counts, in the
    /// unit's transaction.
    func recordCreated(by mapping: ResolvedEntityMapping, isFirstPass: Bool) throws {
        guard mapping.policy != nil else { return }
        for mark in manager.marks {
            try context.progress.save(ProgressTable.Entry(isDone: true), for: Self.touched + mark)
        }
        manager.marksAreRecorded()
        if isFirstPass {
            for (root, count) in manager.newKeys {
                try context.progress.change("\(Self.newKeys)\(mapping.position):\(root)") { $0.created += count }
            }
            manager.newKeys.removeAll(keepingCapacity: true)
        }
        for (entity, count) in manager.created.sorted(by: { $0.key < $1.key }) {
            try context.progress.change(Self.createdUnit(entity, by: mapping)) { entry in
                entry.created += count
                entry.written += count
            }
        }
        manager.created.removeAll(keepingCapacity: true)
    }

    private static let touched = "touched:"
    private static let newKeys = "keys:"
    private static let related = "related:"

    static func evidence(in context: StepContext) throws -> PolicyEvidence {
        var evidence = PolicyEvidence()
        guard context.step.resolved.hasPolicies else { return evidence }
        evidence.touched = Set(try context.progress.entries(touched).map(\.name))
        for (name, entry) in try context.progress.entries(newKeys) {
            let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, let position = Int(parts[0]) else { continue }
            evidence.newKeys[position, default: [:]][parts[1]] = entry.created
        }
        let other = Set(try context.progress.entries(related).map(\.name))
        for mapping in context.step.resolved.entityMappings
        where mapping.policyKeepsPrimaryKeys && !other.contains("\(mapping.position)") {
            if try PolicyAssociations(mapping, in: context).areAllImplied() {
                evidence.implied.insert(mapping.position)
            }
        }
        return evidence
    }

    static func createdUnit(_ entity: String, by mapping: ResolvedEntityMapping) -> String {
        "created:\(mapping.position):\(entity)"
    }

    // MARK: Second and third pass

    func relate(report: inout StepReport) throws {
        manager.rowsToCome = .none
        for mapping in context.step.resolved.entityMappings {
            guard let calls = calls[mapping.position] else { continue }
            try relate(calls, report: &report)
            try hook("endRelationships", of: mapping, .relationships) {
                try $0.policy.endRelationshipCreation(forMapping: $0.mapping, manager: manager)
            }
        }
    }

    func validate() throws {
        for mapping in context.step.resolved.entityMappings {
            try hook("validate", of: mapping, .relationships) {
                try $0.policy.performCustomValidation(forMapping: $0.mapping, manager: manager)
            }
            try hook("end", of: mapping, .relationships) { try $0.policy.end($0.mapping, manager: manager) }
        }
    }

    private func relate(_ calls: PolicyCalls, report: inout StepReport) throws {
        let mapping = calls.mapping.resolved
        manager.links = try links(of: mapping)
        defer { manager.links = [] }
        let associations = try manager.associations(of: calls.mapping)
        var page: [PolicyAssociations.Row] = []
        let ranges = try ChunkRanges(of: [mapping], in: context)
        try context.walk(
            ranges, unit: "relate:\(mapping.position)", phase: .relationships, subject: mapping.name,
            report: &report
        ) { range, entry in
            manager.beginUnit()
            var isByDefault = true
            var position = (source: range.low, element: Int64.max)
            pages: while true {
                // Associations that the policy adds meanwhile come later on this page or on the next one.
                try associations.page(after: position.source, position.element, upTo: range.high, into: &page)
                for row in page {
                    let destination = try manager.destinationObject(number: row.made.entity, key: row.made.key)
                    manager.origin = row.source
                    manager.isRelatedByDefault = false
                    defer { manager.origin = nil }
                    try calls.call {
                        try calls.policy.createRelationships(
                            forDestination: destination, in: calls.mapping, manager: manager)
                    }
                    EntityWriter.recycle(destination)
                    isByDefault = isByDefault && manager.isRelatedByDefault
                    if canSkipRelationships(calls) {
                        entry.isDone = true
                        break pages
                    }
                }
                guard let last = page.last else { break }
                position = (last.source, last.element)
            }
            if !isByDefault {
                try context.progress.save(
                    ProgressTable.Entry(isDone: true), for: "\(Self.related)\(mapping.position)")
            }
            try recordCreated(by: mapping, isFirstPass: false)
        }
    }

    /// Whether the second pass can skip the mapping: it has no links, and its policy has no `createRelationships`.
    private func canSkipRelationships(_ calls: PolicyCalls) -> Bool {
        guard manager.links.isEmpty, let type = manager.policyWithoutRelationships else { return false }
        return type == Swift.type(of: calls.policy)
    }

    private func links(of mapping: ResolvedEntityMapping) throws -> [Statement] {
        var links: [Statement] = []
        for assignment in context.program.fills.relationships {
            for contribution in assignment.contributions where contribution.mapping.position == mapping.position {
                let sql = LinkStatements(context.sql, assignment, contribution)
                if let statement = try sql.links()?.prepare(on: context.connection, now: context.options.now) {
                    links.append(statement)
                }
            }
        }
        return links
    }

    private func hook(
        _ name: String, of mapping: ResolvedEntityMapping, _ phase: Phase, _ body: (PolicyCalls) throws -> Void
    ) throws {
        guard let calls = calls[mapping.position] else { return }
        let unit = "policy:\(name):\(mapping.position)"
        try context.once(unit, phase: phase, subject: mapping.name) {
            manager.beginUnit()
            try calls.call { try body(calls) }
            try recordCreated(by: mapping, isFirstPass: phase == .rows)
        }
    }
}

/// Runs the first pass of an entity mapping with a migration policy, which it calls for each source object.
final class PolicyExecutor: MappingExecutor {
    private let calls: PolicyCalls
    private let rows: RowStream
    private let current: CurrentSource

    init(_ calls: PolicyCalls, in context: StepContext) throws {
        self.calls = calls
        let plan = try RowPlan(MappingSQL(calls.mapping.resolved, in: context.sql))
        rows = try RowStream(plan, in: context)
        current = try CurrentSource(calls, plan)
    }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        calls.manager.beginUnit()
        calls.manager.current = current
        defer { calls.manager.current = nil }
        try current.associations.beginChunk(after: range.low)
        return try rows.reading(range, carryRows)
    }

    private func carryRows() throws -> ChunkOutcome {
        let (manager, mapping, policy) = (calls.manager, calls.mapping, calls.policy)
        var outcome = ChunkOutcome()
        var source: SourceObject?
        while let row = try rows.next() {
            outcome.read += 1
            guard rows.plan.filter.map({ row.integer($0) != 0 }) ?? true else {
                outcome.dropped += 1
                continue
            }
            current.begin(row, number: manager.nextRowNumber())
            mapping.resetValues()
            // The object of the previous row is reused, unless the policy has kept it.
            if !isKnownUniquelyReferenced(&source) { source = SourceObject(current, manager) }
            guard let source else { continue }
            source.represent(current.key, row: current.number)
            try calls.call {
                try policy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            }
            try current.associations.finish(current)
            if current.inserted > 0 {
                outcome.written += current.inserted
                outcome.created += current.inserted - 1
            } else if current.associated > 0 {
                outcome.merged += 1
            } else {
                outcome.dropped += 1
            }
        }
        return outcome
    }
}

final class PolicyCalls: PolicyFunctions {
    let policy: any EntityMigrationPolicy
    let mapping: PolicyEntityMapping
    let manager: MigrationManager
    private let functions: [String: PolicyFunction]

    init(_ policy: any EntityMigrationPolicy, _ mapping: PolicyEntityMapping, _ manager: MigrationManager) {
        self.policy = policy
        self.mapping = mapping
        self.manager = manager
        functions = policy.functions
    }

    /// Runs a hook and writes its changes; adds the entity mapping to errors.
    func call(_ hook: () throws -> Void) throws {
        do {
            try hook()
            try manager.flush()
        } catch let error as FerryError {
            throw error.place.entityMapping == nil ? error.placed(in: mapping.resolved) : error
        } catch {
            // The policy's text could hold row values, which no message may show.
            throw FerryError(
                .rowFailed,
                "The migration policy \(mapping.resolved.policy ?? "") of entity mapping \(mapping.name) failed.",
                remedy: "The cause is the policy's own error. Correct it and run the same migration to continue.",
                place: .init(entityMapping: mapping.name, entity: mapping.sourceEntityName), cause: error)
        }
    }

    func call(_ name: String, _ arguments: [FunctionValue]) throws -> DefaultValue? {
        guard let function = functions[name] else {
            throw FerryError(
                .missingPolicy, "The migration policy \(mapping.resolved.policy ?? "") offers no function \(name).",
                remedy: "Add it to the policy's functions.")
        }
        return try function(arguments.map { MigrationValue(raw: Value($0)) }).plain
    }
}
