internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Runs the operations of a step's program, in their order, in either place.
struct StepOperations {
    private let context: StepContext
    private var alteration: Alteration
    /// Nil for a step that fills no table.
    private let policies: PolicyRun?

    init(_ context: StepContext, policies: PolicyRegistry) throws {
        self.context = context
        alteration = Alteration(context)
        self.policies = context.step.mode == .copy ? try PolicyRun(context, policies: policies) : nil
    }

    /// Runs what no earlier call has done, and reports the counts.
    mutating func run(report: inout StepReport) throws {
        for phase in policies == nil ? [Phase.rows] : [.rows, .relationships, .indexes] {
            context.options.progress?(ProgressUpdate(phase: phase))
            switch phase {
            case .rows: break
            case .relationships: try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
            default: try RunDatabase.shareCaches(RunDatabase.indexCaches, context)
            }
            // Unused memory of the rows phase counts beside the caches and sorters of links and indexes.
            if phase != .rows { releaseUnusedMemory() }
            let operations = context.program.operations.filter { $0.phase == phase }
            for operation in operations where operation.altersTables { try alteration.run(operation) }
            if phase == .rows, policies != nil { try RowsPass.checkStatements(context) }
            for operation in operations where !operation.altersTables { try run(operation, report: &report) }
            if phase == .rows, policies != nil { try CountedTargets.check(context) }
        }
        report.kept = alteration.kept
        if context.commitsUnits { try releaseFreePages() }
    }

    /// Shortens the destination by the pages of tables that were rewritten or dropped, which later steps would copy and the
    /// swap would write.
    private func releaseFreePages() throws {
        var worked: UInt64 = 0
        // In Core Data's stores (2, incremental) SQLite moves pages only on demand, in others never.
        while try context.connection.pragma("auto_vacuum")?.integer == 2,
            try context.connection.pragma("freelist_count")?.integer != 0
        {
            try context.options.stop.checkBetweenUnits(after: worked)
            let start = Clock.nanoseconds()
            try context.unit { try context.connection.execute("PRAGMA incremental_vacuum(\(Self.pagesOfUnit))") }
            worked = Clock.nanoseconds(since: start)
        }
    }

    private static let pagesOfUnit = 1 << 14

    private func run(_ operation: StepOperation, report: inout StepReport) throws {
        switch operation.work {
        case .version: try context.once(operation.unit, phase: .rows, subject: nil) { try context.writeVersion() }
        case .rows(let positions):
            guard let policies else { return }
            try RowsPass.run(positions, in: context, policies, report: &report)
        case .links(let place, let contribution?):
            let assignment = context.program.fills.relationships[place]
            try link(assignment, assignment.contributions[contribution], operation, report: &report)
        case .policies:
            try policies?.relate(report: &report)
            try policies?.validate()
        case .settle:
            let statements = try context.sql.statements(of: operation, policies: context.policyEvidence())
            for (index, statement) in statements.enumerated() {
                try once("\(operation.unit):\(index)", of: operation, [statement])
            }
        case .highestKeys:
            try runStatements(of: operation)
            try RunDatabase.shareCaches(RunDatabase.sortingCaches, context)
        case .statements, .links, .joinTable: try runStatements(of: operation)
        }
    }

    /// Runs the statements of an operation that needs nothing else: first those of one unit, then those in chunks.
    private func runStatements(of operation: StepOperation) throws {
        let statements = try context.sql.statements(of: operation)
        let whole = statements.filter { !$0.isInChunks }
        if !whole.isEmpty { try once(operation.unit, of: operation, whole) }
        for statement in statements {
            guard case .chunks(let table) = statement.form else { continue }
            try context.walk(
                whole.isEmpty ? operation.unit : "\(operation.unit):rows", over: table, phase: operation.phase,
                subject: operation.subject, running: statement.sql.text)
        }
    }

    private func once(_ unit: String, of operation: StepOperation, _ statements: [ProgramStatement]) throws {
        try context.once(unit, phase: operation.phase, subject: operation.subject) {
            for statement in statements { try context.execute(statement) }
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
            subject: operation.subject, report: &report
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
