internal import BenchmarkHarness

/// A whole migration by the library, from one file to another, beside the same job in hand-written SQL: one durable
/// transaction with the indexes at its end.
protocol MigrationBesideSQL: BenchmarkCase {
    static func statements(_ plan: SQLFloor.Plan) throws -> [String]
    /// The table that has one row for each row of the job after the floor has run.
    static func filledTable(_ plan: SQLFloor.Plan) throws -> String
}

extension MigrationBesideSQL {
    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "ferry" { return try MigratorJob.output(data, work: work, rows: point.rows, probe: probe) }
        let plan = try SQLFloor.Plan(data)
        let statements = try Self.statements(plan)
        try probe.measure(rows: point.rows) {
            let floor = try SQLFloor(plan, work: work)
            try floor.together(statements + floor.indexes)
        }
        try SQLFloor.require(point.rows, in: Self.filledTable(plan), work: work)
    }
}
