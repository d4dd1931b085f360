internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs the operations of a step's program, in their order.
struct StepOperations {
    private let context: StepContext
    private let policies: PolicyRun
    private let appObjects: AppObjectsPhase
    /// The effects of policies, once all of them have run.
    private var evidence: PolicyEvidence?

    init(_ context: StepContext, policies: PolicyRegistry) throws {
        self.context = context
        appObjects = try AppObjectsPhase(context: context)
        self.policies = try PolicyRun(context, policies: policies)
    }

    mutating func run(report: inout StepReport) throws {
        for phase in [Phase.rows, .relationships, .indexes] {
            context.options.progress?(ProgressUpdate(phase: phase))
            switch phase {
            case .rows: try RowsPass.checkStatements(context)
            case .relationships: try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
            default: try RunDatabase.shareCaches(RunDatabase.indexCaches, context)
            }
            // Unused memory of the rows phase counts beside the caches and sorters of links and indexes.
            if phase != .rows { releaseUnusedMemory() }
            for operation in context.program.operations where operation.phase == phase {
                try run(operation, in: phase, report: &report)
            }
            if phase == .rows { try CountedTargets.check(context) }
        }
        if context.step.keptPart == nil { try appObjects.createTriggers() }
    }

    private mutating func run(_ operation: StepOperation, in phase: Phase, report: inout StepReport) throws {
        let unit = operation.unit
        switch operation.work {
        case .rows(let positions): try RowsPass.run(positions, in: context, policies, report: &report)
        case .link(let place, let contribution):
            let assignment = context.program.fills.relationships[place]
            try link(assignment, assignment.contributions[contribution], operation, report: &report)
        case .policies:
            try policies.relate(report: &report)
            try policies.validate()
        case .settle:
            let evidence = try evidence ?? PolicyRun.evidence(in: context)
            self.evidence = evidence
            for (index, statement) in try context.sql.statements(of: operation, policies: evidence).enumerated() {
                try context.once("\(unit):\(index)", phase: phase, subject: context.sql.subject(of: operation)) {
                    try context.connection.run(statement, now: context.options.now)
                }
            }
        case .highestKeys:
            try runStatements(of: operation, in: phase)
            try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
        case .appObjects: try appObjects.run(report: &report)
        case .copyLinks, .linkAtOnce, .positions, .fillGathered, .index, .rTree, .derived, .trigger, .statement,
            .version, .closing:
            try runStatements(of: operation, in: phase)
        }
    }

    /// Runs the statements of an operation that needs nothing else: first those of one unit, then those in chunks.
    private func runStatements(of operation: StepOperation, in phase: Phase) throws {
        let (unit, subject) = (operation.unit, context.sql.subject(of: operation))
        let statements = try context.sql.statements(of: operation)
        let whole = statements.filter { !$0.isInChunks }
        if !whole.isEmpty {
            try context.once(unit, phase: phase, subject: subject) {
                do {
                    for statement in whole { try context.connection.run(statement, now: context.options.now) }
                } catch let error as DatabaseError {
                    guard case .index(let index) = operation.work, error.isConstraint else { throw error }
                    throw FerryError.duplicates(
                        "The rows of \(index.table) break the uniqueness constraint of index \(index.name).",
                        cause: error)
                }
            }
        }
        for statement in statements {
            guard case .chunks(let table) = statement.form else { continue }
            try context.walk(
                whole.isEmpty ? unit : "\(unit):rows", over: table, phase: phase, subject: subject,
                running: statement.sql.text)
        }
    }

    /// Runs a statement over the source objects of an entity mapping, in chunks.
    private func link(
        _ assignment: RelationshipAssignment, _ contribution: RelationshipContribution, _ operation: StepOperation,
        report: inout StepReport
    ) throws {
        guard try !context.progress.entry(operation.unit).isDone,
            let statement = try context.sql.statements(of: operation).first
        else { return }
        let prepared = try statement.sql.prepare(on: context.connection, now: context.options.now)
        try context.walk(
            ChunkRanges(of: [contribution.mapping], in: context), unit: operation.unit, phase: .relationships,
            subject: context.sql.subject(of: operation),
            writesScratch: context.program.fills.joinTable(assignment.joinTable)?.order == .gathered, report: &report
        ) { range, _ in
            try prepared.bind(range)
            try prepared.run()
        }
    }
}

extension FerryError {
    /// Reports rows with equal values, which a unique index does not allow.
    static func duplicates(_ message: String, cause: DatabaseError) -> FerryError {
        FerryError(
            .rowFailed, message,
            remedy:
                "Let a mapping file merge the duplicates of one entity with \"unique\", or drop them with \"where\".",
            cause: cause)
    }
}
