internal import BenchmarkHarness
internal import FerryModel
internal import FerryStore

/// Rows with many columns.
struct WideRowsCase: BenchmarkCase {
    let name = "wide-rows"
    let summary = "rows of \(Subject.wideColumns) attributes, one renamed; a tenth of the rows asked for"
    let sides = LargeRows.sides
    let measures: [Measure] = LargeRows.measures + [.allocationsPerRow()]

    func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: max(10, rows / 10))] }
    func prepare(_ point: BenchPoint, in folder: String) throws { try Subject.wide.write(rows: point.rows, to: folder) }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        try LargeRows.run(
            side, point, data: data, work: work, probe: probe, entity: "Wide", renamed: ["ZSECOND": "ZFIRST"],
            chunk: 1_000)
    }
}

/// Rows with large values.
struct BlobsCase: BenchmarkCase {
    let name = "blobs"
    let summary = "values of a mebibyte; a thousandth of the rows asked for, at least 16"
    let sides = LargeRows.sides
    let measures: [Measure] = LargeRows.measures

    func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: max(16, rows / 1_000))] }
    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.blobs.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        try LargeRows.run(
            side, point, data: data, work: work, probe: probe, entity: "Photo", renamed: ["ZLABEL": "ZNAME"], chunk: 4)
    }
}

/// Values larger than any cache.
struct LargeValuesCase: BenchmarkCase {
    let name = "large-values"
    let summary = "values of 64 MiB, carried in pieces; one for every 250,000 rows asked for"
    let sides = LargeRows.sides.filter { $0.name != "chunks" }
    // The design's budget for single values that are larger than the memory limit.
    let measures: [Measure] = [
        .speed(against: "statement"), .work(against: "statement"), .written(against: "statement"),
        .peak(budget: 48 * 1024 * 1024), .statements(),
    ]

    func points(rows: Int) -> [BenchPoint] { [BenchPoint(rows: max(1, rows / 250_000))] }
    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.largeValues.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        try LargeRows.run(
            side, point, data: data, work: work, probe: probe, entity: "Photo", renamed: ["ZLABEL": "ZNAME"], chunk: 4)
    }
}

/// The work of all cases for large rows: every column is carried, some under another name, in small chunks.
private enum LargeRows {
    static let sides = [
        Side("ferry", "the engine, crash-safe, with its progress", isCounted: true),
        Side("chunks", "the same statement over the same chunks, each durable, without progress"),
        Side("statement", "one durable INSERT … SELECT"),
    ]
    static let measures: [Measure] = [
        .speed(against: "chunks", budget: 0.9), .speed(against: "statement", budget: 0.7), .work(against: "chunks"),
        .work(against: "statement"), .written(against: "chunks"),
        .peak(), .statements(),
    ]

    static func run(
        _ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe, entity: String,
        renamed: [String: String], chunk: Int
    ) throws {
        if side == "ferry" { return try EngineJob.run(data, work: work, rows: point.rows, chunk: chunk, probe: probe) }
        let plan = try SQLFloor.Plan(data)
        let table = "Z\(entity.uppercased())"
        let columns = plan.new.table(of: entity)?.columns.map(\.name) ?? []
        let values = try columns.map { $0 == "Z_ENT" ? "\(try plan.number(of: entity))" : renamed[$0] ?? $0 }
        let sql =
            "INSERT INTO main.\(table) (\(columns.joined(separator: ", "))) "
            + "SELECT \(values.joined(separator: ", ")) FROM source.\(table)"
        try probe.measure(rows: point.rows) {
            let floor = try SQLFloor(plan, work: work)
            if side == "chunks" {
                try floor.chunked(sql + BookSQL.range, table: table, rows: chunk)
            } else {
                try floor.together([sql])
            }
        }
        try SQLFloor.require(point.rows, in: table, work: work)
    }
}
