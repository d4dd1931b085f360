internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import FerryStore

/// Relates the objects that could not be related when their rows were written.
struct RelationshipsPhase {
    let context: StepContext

    func run(report: inout StepReport) throws {
        for assignment in context.assignments.assignments {
            if context.assignments.sorted.contains(where: { $0.name == assignment.joinTable }) {
                try linkAtOnce(assignment)
                continue
            }
            for contribution in assignment.contributions where !contribution.isInline {
                try link(assignment, contribution, report: &report)
            }
            if !isGathered(assignment) { try settle(assignment) }
        }
        for table in context.assignments.gathered {
            try context.once("join:\(table.name)", phase: .relationships, subject: table.name) {
                try JoinRows(table: table, assignments: context.assignments).statement()
                    .prepare(on: context.connection).run()
            }
        }
        for assignment in context.assignments.assignments where isGathered(assignment) { try settle(assignment) }
    }

    private func isGathered(_ assignment: RelationshipAssignments.Assignment) -> Bool {
        context.assignments.gathered.contains { $0.name == assignment.joinTable }
    }

    /// Fills a join table by one statement, which sorts its rows once.
    private func linkAtOnce(_ assignment: RelationshipAssignments.Assignment) throws {
        let name = "\(assignment.declared.entity).\(assignment.declared.property)"
        for contribution in assignment.contributions {
            let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
            try context.once("join:\(name)", phase: .relationships, subject: name) {
                guard let statement = try sql.links()?.prepare(on: context.connection) else { return }
                try statement.bind(.integer(KeyRanges.beginning), named: ":low")
                try statement.bind(.integer(.max), named: ":high")
                try statement.run()
            }
        }
    }

    private func link(
        _ assignment: RelationshipAssignments.Assignment, _ contribution: RelationshipAssignments.Contribution,
        report: inout StepReport
    ) throws {
        let name = "\(assignment.declared.entity).\(assignment.declared.property)"
        let unit = "links:\(name):\(contribution.mapping.position)"
        var entry = try context.progress.entry(unit)
        let sql = LinkStatements(context: context, assignment: assignment, contribution: contribution)
        guard !entry.isDone, let statement = try sql.links()?.prepare(on: context.connection) else { return }
        let isGathered = isGathered(assignment)
        let ranges = try KeyRanges(of: contribution.mapping, in: context)
        var sizer = ChunkSizer(context.options.chunkSize)
        var low = entry.chunks == 0 ? KeyRanges.beginning : entry.mark
        while !entry.isDone {
            try context.options.stop.check()
            let start = Clock.nanoseconds()
            let range = try ranges.next(after: low, rows: sizer.rows)
            try context.unit(writesScratch: range != nil && isGathered) {
                if let range {
                    try statement.bind(.integer(range.low), named: ":low")
                    try statement.bind(.integer(range.high), named: ":high")
                    try statement.run()
                    entry.mark = range.high
                    entry.chunks += 1
                }
                entry.isDone = range?.isLast ?? true
                try context.progress.save(entry, for: unit)
            }
            guard let range else { return }
            low = range.high
            let nanoseconds = Clock.nanoseconds() - start
            sizer.chunkTook(nanoseconds)
            report.chunkTimes.add(nanoseconds)
            context.options.progress?(ProgressUpdate(phase: .relationships, subject: name, done: entry.chunks))
        }
    }

    private func settle(_ assignment: RelationshipAssignments.Assignment) throws {
        let name = "\(assignment.declared.entity).\(assignment.declared.property)"
        let statements = try SettlingStatements(context: context, assignment: assignment).statements()
        for (index, sql) in statements.enumerated() {
            try context.once("settle:\(name):\(index)", phase: .relationships, subject: name) {
                try sql.prepare(on: context.connection).run()
            }
        }
    }
}
