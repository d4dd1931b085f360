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
        for assignment in context.assignments.assignments {
            if let table = copiedTable(of: assignment) {
                try copy(table.new, from: table.origin)
                continue
            }
            if context.assignments.sorted.contains(where: { $0.name == assignment.joinTable }) {
                try linkAtOnce(assignment)
                continue
            }
            for contribution in assignment.contributions
            where !contribution.isInline && contribution.mapping.policy == nil {
                try link(assignment, contribution, report: &report)
            }
        }
        try policies.relate(report: &report)
        try policies.validate()
        let evidence = try PolicyRun.evidence(in: context)
        for assignment in context.assignments.assignments where !isGathered(assignment) {
            try settle(assignment, evidence)
        }
        if context.step.resolved.hasPolicies { try settlePositions() }
        for table in context.assignments.gathered where context.sourceKeys.links[table.name] == nil {
            try context.once("join:\(table.name)", phase: .relationships, subject: table.name) {
                let rows = JoinRows(
                    table: table, assignments: context.assignments, hasPolicies: context.step.resolved.hasPolicies)
                try rows.statement().prepare(on: context.connection).run()
            }
        }
        for assignment in context.assignments.assignments where isGathered(assignment) {
            try settle(assignment, evidence)
        }
    }

    private func isGathered(_ assignment: RelationshipAssignments.Assignment) -> Bool {
        context.assignments.gathered.contains { $0.name == assignment.joinTable }
    }

    /// The join table of a many-to-many whose links are taken over as they are.
    private func copiedTable(
        of assignment: RelationshipAssignments.Assignment
    ) -> (new: JoinTable, origin: JoinTable)? {
        guard let name = assignment.joinTable, let origin = context.sourceKeys.links[name] else { return nil }
        return context.destination.joinTables.first { $0.name == name }.map { ($0, origin) }
    }

    private func copy(_ table: JoinTable, from origin: JoinTable) throws {
        try context.once("join:\(table.name)", phase: .relationships, subject: table.name) {
            try LinkCopy(context: context, table: table, origin: origin).run()
        }
    }

    /// Fills a join table by one statement, which sorts its rows once.
    private func linkAtOnce(_ assignment: RelationshipAssignments.Assignment) throws {
        let name = assignment.declared.title
        for contribution in assignment.contributions {
            let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
            try context.once("join:\(name)", phase: .relationships, subject: name) {
                guard let statement = try sql.links()?.prepare(on: context.connection) else { return }
                try statement.bind(KeyRange.all)
                try statement.run()
            }
        }
    }

    /// A policy may have put objects into any ordered relationship, from either side.
    private func settlePositions() throws {
        for (key, storage) in context.destination.relationshipStorage.sorted(by: { $0.key < $1.key }) {
            guard case .foreignKey(let table, let column, _, let orderColumn?) = storage else { continue }
            let name = key.title
            let sql = OrderKeys.settle(orderColumn, of: table, among: column)
            try context.once("positions:\(name)", phase: .relationships, subject: name) {
                try sql.prepare(on: context.connection).run()
            }
        }
    }

    private func link(
        _ assignment: RelationshipAssignments.Assignment, _ contribution: RelationshipAssignments.Contribution,
        report: inout StepReport
    ) throws {
        let name = assignment.declared.title
        let unit = "links:\(name):\(contribution.mapping.position)"
        let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
        guard try !context.progress.entry(unit).isDone, let statement = try sql.links()?.prepare(on: context.connection)
        else { return }
        try context.walk(
            ChunkRanges(of: contribution.mapping, in: context), unit: unit, phase: .relationships, subject: name,
            writesScratch: isGathered(assignment), report: &report
        ) { range, _ in
            try statement.bind(range)
            try statement.run()
        }
    }

    private func settle(
        _ assignment: RelationshipAssignments.Assignment, _ policies: PolicyEvidence
    ) throws {
        let name = assignment.declared.title
        let statements = try SettlingStatements(context: context, assignment: assignment, policies: policies)
            .statements()
        for (index, sql) in statements.enumerated() {
            try context.once("settle:\(name):\(index)", phase: .relationships, subject: name) {
                try sql.prepare(on: context.connection).run()
            }
        }
    }
}
