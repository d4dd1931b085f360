internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// A mapping model that changes one entity of two, by the whole command without snapshot, beside what an expert would
/// write by hand.
struct ChangeCase: BenchmarkCase {
    let name = "change"
    let summary = "books and users by a mapping model, of which the users get a computed attribute"
    let sides = [
        Side("ferry", "the whole command, verified in full", isCounted: true),
        Side("quick", "the whole command with the quick checks", isCounted: true),
        Side("careful", "a copy of the file, synced; the statements; a comparison of both files"),
        Side("statements", "ALTER TABLE and UPDATE, one durable transaction"),
    ]
    let measures: [Measure] = [
        .speed(against: "careful", budget: 0.5), .speed(of: "quick", against: "statements", budget: 0.5),
        .written(against: "statements"), .written(by: "quick", against: "statements", budget: 4),
        .peak(), .peak(of: "quick"), .statements(), .statements(of: "quick"),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.oneChanged.write(rows: point.rows, to: folder)
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        switch side {
        case "careful": try floor(point, data, work, probe, isCareful: true)
        case "statements": try floor(point, data, work, probe, isCareful: false)
        default:
            try CommandJob.inPlace(
                data, work: work, rows: point.rows, takesSnapshot: false, copies: false,
                verify: side == "quick" ? .quick : .full, probe: probe)
        }
    }

    private func floor(
        _ point: BenchPoint, _ data: String, _ work: String, _ probe: Probe, isCareful: Bool
    ) throws {
        let files = FileLayer()
        let store = try Subject.copyStore(data, work: work)
        let copy = "\(work)/Copy.sqlite"
        try probe.measure(rows: point.rows) {
            let path = isCareful ? copy : store
            if isCareful {
                _ = try files.copy(store, to: copy)
                try files.syncFile(copy)
            }
            let connection = try Connection(path: path, mode: .readWrite)
            try SQLFloor.setRules(connection)
            try connection.transaction {
                try connection.execute("ALTER TABLE ZUSER ADD COLUMN ZSORTNAME VARCHAR")
                try connection.execute("UPDATE ZUSER SET ZSORTNAME = upper(ZNAME)")
            }
            if isCareful { try require(Self.differingPages(of: copy, from: store, files) > 0, "differs in no page") }
        }
        let found =
            try Connection(path: isCareful ? copy : store, mode: .readOnly)
            .integer("SELECT count(ZSORTNAME) FROM ZUSER") ?? 0
        try require(found == Int64(max(2, point.rows / 5)), "has \(found) users")
    }

    private func require(_ holds: Bool, _ what: String) throws {
        if !holds { throw FerryError(.internalError, "The floor \(what).") }
    }

    /// Reads both files once, as the least that a comparison can do.
    private static func differingPages(of path: String, from other: String, _ files: FileLayer) throws -> Int {
        let left = try files.open(path)
        let right = try files.open(other)
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 4096)
        defer { buffer.deallocate() }
        let parts = [0, piece].map { UnsafeMutableRawBufferPointer(rebasing: buffer[$0..<$0 + piece]) }
        var (offset, differing): (Int64, Int) = (0, 0)
        while true {
            let counts = [try left.read(into: parts[0], at: offset), try right.read(into: parts[1], at: offset)]
            guard counts[0] > 0 else { return differing }
            let common = counts.min() ?? 0
            if counts[0] != counts[1]
                || compareBytes(.init(rebasing: parts[0][..<common]), .init(rebasing: parts[1][..<common])) != 0
            {
                differing += 1
            }
            offset += Int64(counts[0])
        }
    }
}
