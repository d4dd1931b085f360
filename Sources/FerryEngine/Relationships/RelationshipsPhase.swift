internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Relates the objects that could not be related when their rows were written.
struct RelationshipsPhase {
    let context: StepContext
    let policies: PolicyRun

    func run(report: inout StepReport) throws {
        let relationships = context.program.relationships
        var evidence: PolicyEvidence?
        for operation in context.program.operations {
            switch operation.work {
            case .copyLinks(let table, let origin):
                try context.once(operation.unit, phase: .relationships, subject: table.name) {
                    try LinkCopy(context: context, table: table, origin: origin).run()
                }
            case .linkAtOnce(let place): try linkAtOnce(relationships[place], operation.unit)
            case .link(let place, let contribution):
                try link(
                    relationships[place], relationships[place].contributions[contribution], operation.unit,
                    report: &report)
            case .policies:
                try policies.relate(report: &report)
                try policies.validate()
            case .settle(let place):
                let known = try evidence ?? PolicyRun.evidence(in: context)
                evidence = known
                try settle(relationships[place], known, operation.unit)
            case .positions(let key, let table, let column, let order):
                let sql = OrderKeys.settle(order, of: table, among: column)
                try context.once(operation.unit, phase: .relationships, subject: key.title) {
                    try sql.prepare(on: context.connection).run()
                }
            case .fillGathered(let table):
                try context.once(operation.unit, phase: .relationships, subject: table.name) {
                    let rows = JoinRows(
                        table: table, filling: relationships.filter { $0.joinTable == table.name },
                        hasPolicies: context.step.resolved.hasPolicies)
                    try rows.statement().prepare(on: context.connection).run()
                }
            case .rows, .index, .rTree, .highestKeys, .appObjects, .derived, .trigger: continue
            }
        }
    }

    /// Fills a join table by one statement, which sorts its rows once.
    private func linkAtOnce(_ assignment: RelationshipAssignment, _ unit: String) throws {
        for contribution in assignment.contributions {
            let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
            try context.once(unit, phase: .relationships, subject: assignment.declared.title) {
                guard let statement = try sql.links()?.prepare(on: context.connection) else { return }
                try statement.bind(KeyRange.all)
                try statement.run()
            }
        }
    }

    private func link(
        _ assignment: RelationshipAssignment, _ contribution: RelationshipContribution, _ unit: String,
        report: inout StepReport
    ) throws {
        let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
        guard try !context.progress.entry(unit).isDone, let statement = try sql.links()?.prepare(on: context.connection)
        else { return }
        try context.walk(
            ChunkRanges(of: contribution.mapping, in: context), unit: unit, phase: .relationships,
            subject: assignment.declared.title,
            writesScratch: context.program.joinTable(assignment.joinTable)?.order == .gathered, report: &report
        ) { range, _ in
            try statement.bind(range)
            try statement.run()
        }
    }

    private func settle(
        _ assignment: RelationshipAssignment, _ policies: PolicyEvidence, _ unit: String
    ) throws {
        let statements = try SettlingStatements(context: context, assignment: assignment, policies: policies)
            .statements()
        for (index, sql) in statements.enumerated() {
            try context.once("\(unit):\(index)", phase: .relationships, subject: assignment.declared.title) {
                try sql.prepare(on: context.connection).run()
            }
        }
    }
}
