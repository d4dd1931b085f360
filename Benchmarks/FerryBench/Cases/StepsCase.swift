internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// A whole command as a user runs it: three copied steps with snapshot, full verification and swap, beside three copies
/// by hand without verification.
struct StepsCase: BenchmarkCase {
    let name = "steps"
    let summary = "three copied steps in the store's place: snapshot, rows, full verification, swap"
    let sides = [
        Side("ferry", "the whole command, every step verified"),
        Side("statements", "the three steps by hand, one durable transaction each; no snapshot, nothing verified"),
    ]
    let measures: [Measure] = [
        .time(of: "ferry", against: "statements", budget: 2), .work(against: "statements"), readsOfStores,
        .written(against: "statements"), .peak(),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws { try StepsSubject.write(rows: point.rows, to: folder) }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        if side == "ferry" {
            try migrate(point, data, work, probe)
        } else {
            try copy(point, data, work, probe)
        }
    }

    private func migrate(_ point: BenchPoint, _ data: String, _ work: String, _ probe: Probe) throws {
        let store = try Subject.copyStore(data, work: work)
        let report = try probe.measure(rows: point.rows) {
            try StepsSubject.migrator(data, store: store).migrate(
                Configuration {
                    $0.losses = .allow
                    $0.target = "V4"
                    $0.executor = .set
                    $0.composition = false
                })
        }
        let steps = Set(report.entityMappings.map(\.step)).count
        guard report.outcome == .migrated, report.mode == .copy, steps == 3,
            report.entityMappings.map(\.written).max() == Int64(point.rows)
        else {
            throw FerryError(.internalError, "The migration took \(steps) steps and was \(report.mode).")
        }
        for phase in report.phases {
            probe.note("\(phase.phase.rawValue), s", phase.time.inSeconds)
            if let bytes = phase.bytesRead { probe.note("\(phase.phase.rawValue), bytes read", Double(bytes)) }
        }
        if let bytes = report.bytesRead { probe.note("bytes read", Double(bytes)) }
    }

    private func copy(_ point: BenchPoint, _ data: String, _ work: String, _ probe: Probe) throws {
        let catalog = try StepsSubject.catalog(data)
        let stores = [Subject.store(data)] + (1...3).map { "\(work)/Step\($0).sqlite" }
        let plans = try (0..<3).map {
            try SQLFloor.Plan(
                source: stores[$0], catalog, from: StepsSubject.versions[$0], to: StepsSubject.versions[$0 + 1])
        }
        let statements = try zip(StepsSubject.statements, plans).map { try $0($1) }
        try probe.measure(rows: point.rows) {
            for step in 0..<3 {
                let floor = try SQLFloor(plans[step], at: stores[step + 1])
                try floor.together(statements[step] + floor.indexes)
            }
        }
        for step in 1...3 { try SQLFloor.require(point.rows, in: "ZBOOK", work: work, file: "Step\(step).sqlite") }
        let files = FileLayer()
        probe.note("bytes of the stores", try stores.map { Double(try files.attributes($0).size) }.reduce(0, +))
    }

    /// Bytes that the command read, divided by the size of the store and of the three stores that are made from it.
    private static let readsOfStores = Measure(
        "bytes read/bytes of the stores", .sizeRatio, better: .lower, budget: 6
    ) { round in
        guard let point = round.points.last, let read = round.sample("ferry", at: point)?.notes["bytes read"],
            let stores = round.sample("statements", at: point)?.notes["bytes of the stores"], stores > 0
        else { return nil }
        return read / stores
    }
}
