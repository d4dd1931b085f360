internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Inferred steps within the store: steps without row changes, steps that write every row, and steps that rebuild the
/// table.
struct InPlaceCase: BenchmarkCase {
    let name = "in-place"
    let summary = "the books of copy migrated within their store, without snapshot, with the quick checks"
    let sides = [
        Side("rename", "an attribute renamed, one added without default", isCounted: true),
        Side("default", "an attribute added with a default", isCounted: true),
        Side("update", "ALTER TABLE and a bare UPDATE, one durable transaction"),
        Side("drop", "an attribute dropped", isCounted: true),
        Side("rebuild", "a new table, INSERT … SELECT, the old one dropped, one durable transaction"),
    ]
    let measures: [Measure] = [
        time(budget: 0.05), dependence(budget: 1.25), .speed(of: "default", against: "update", budget: 0.9),
        .speed(of: "drop", against: "rebuild", budget: 0.9), .work(of: "default", against: "update"),
        .work(of: "drop", against: "rebuild"), .written(by: "default", against: "update"),
        .written(by: "drop", against: "rebuild"), .peak(of: "rename"), .peak(of: "default"), .peak(of: "drop"),
        .statements(of: "rename"), .statements(of: "default"), .statements(of: "drop"),
    ]

    /// Returns a tenth of the rows, and all rows.
    ///
    /// In stores above 16 MiB, a step without row changes reads no row.
    func points(rows: Int) -> [BenchPoint] {
        [max(1, rows / 10), rows].map { BenchPoint("\(Figure.grouped($0)) rows", rows: $0) }
    }

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.books.write(rows: point.rows, to: folder)
        for (name, subject) in Subject.inPlace { try subject.writeSources(to: "\(folder)/\(name)") }
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        switch side {
        case "update": try floor("default", point, data, work, probe, statements: Self.update)
        case "rebuild": try floor("drop", point, data, work, probe, statements: Self.rebuild)
        default:
            try CommandJob.inPlace(
                "\(data)/\(side)", work: work, rows: point.rows, takesSnapshot: false, verify: .quick, probe: probe)
        }
    }

    // MARK: Floors

    private func floor(
        _ step: String, _ point: BenchPoint, _ data: String, _ work: String, _ probe: Probe,
        statements: (SQLFloor.Plan) throws -> [String]
    ) throws {
        let plan = try SQLFloor.Plan("\(data)/\(step)")
        let statements = try statements(plan)
        let store = try Subject.copyStore("\(data)/\(step)", work: work)
        try probe.measure(rows: point.rows) {
            let connection = try Connection(path: store, mode: .readWrite)
            try SQLFloor.setRules(connection)
            try connection.transaction { for statement in statements { try connection.execute(statement) } }
        }
        let found = try Connection(path: store, mode: .readOnly).integer("SELECT count(*) FROM ZBOOK") ?? 0
        guard found == Int64(point.rows) else {
            throw FerryError(.internalError, "A floor left \(found) rows of \(point.rows).")
        }
    }

    private static func update(_: SQLFloor.Plan) -> [String] {
        ["ALTER TABLE ZBOOK ADD COLUMN ZRATING INTEGER", "UPDATE ZBOOK SET ZRATING = 3"]
    }

    private static func rebuild(_ plan: SQLFloor.Plan) throws -> [String] {
        guard let table = plan.new.table(of: "Book") else {
            throw FerryError(.internalError, "The new store has no table for books.")
        }
        let columns = (["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name)).joined(separator: ", ")
        return [
            "ALTER TABLE ZBOOK RENAME TO ZOLD", table.sql,
            "INSERT INTO ZBOOK (\(columns)) SELECT \(columns) FROM ZOLD", "DROP TABLE ZOLD",
        ]
    }

    // MARK: Measures

    private static func time(budget: Double) -> Measure {
        Measure("time of rename", .seconds, better: .lower, budget: budget, gate: .atFullScale) { round in
            round.points.last.flatMap { round.sample("rename", at: $0)?.seconds }
        }
    }

    /// The time with all rows divided by the time with a tenth of the rows.
    private static func dependence(budget: Double) -> Measure {
        Measure("time of rename, most/fewest rows", .ratio, better: .lower, budget: budget, gate: .atFullScale) {
            round in
            guard let first = round.points.first, let last = round.points.last,
                let few = round.sample("rename", at: first), let many = round.sample("rename", at: last),
                few.seconds > 0
            else { return nil }
            return many.seconds / few.seconds
        }
    }
}
