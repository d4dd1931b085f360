internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// A mapping model that changes one entity of two, by the whole command without snapshot, beside what an expert would
/// write by hand.
struct ChangeCase: BenchmarkCase {
    enum Change: String {
        case computed, renamed, largest, split
    }

    let change: Change

    init(_ change: Change = .computed) { self.change = change }

    var name: String { change == .computed ? "change" : "change-\(change)" }
    var summary: String {
        switch change {
        case .computed: "books and users by a mapping model, of which the users get a computed attribute"
        case .renamed: "the same, but an attribute of the users is renamed"
        case .largest: "the same, but the books get a computed attribute"
        case .split: "the same, but a person is found or created for each user's name"
        }
    }
    let sides = [
        Side("ferry", "the whole command, verified in full", isCounted: true),
        Side("quick", "the whole command with the quick checks", isCounted: true),
        Side("careful", "a copy of the file, synced; the statements; a comparison of both files"),
        Side("statements", "the change by hand, one durable transaction"),
    ]
    var measures: [Measure] {
        [
            .speed(against: "careful", budget: change == .computed ? 0.5 : nil),
            .speed(of: "quick", against: "statements", budget: change == .computed ? 0.5 : nil),
            .written(against: "statements"),
            .written(by: "quick", against: "statements", budget: change == .computed ? 4 : nil),
            .peak(), .peak(of: "quick"), .statements(), .statements(of: "quick"),
        ]
    }

    private var subject: Subject {
        switch change {
        case .computed: .oneComputed
        case .renamed: .oneRenamed
        case .largest: .largestComputed
        case .split: .oneSplit
        }
    }

    /// The change as an expert writes it, and a query of its rows.
    private var byHand: (statements: [String], count: String) {
        switch change {
        case .computed:
            (
                ["ALTER TABLE ZUSER ADD COLUMN ZSORTNAME VARCHAR", "UPDATE ZUSER SET ZSORTNAME = upper(ZNAME)"],
                "SELECT count(ZSORTNAME) FROM ZUSER"
            )
        case .renamed:
            (["ALTER TABLE ZUSER RENAME COLUMN ZMEMBERSINCE TO ZSINCE"], "SELECT count(ZSINCE) FROM ZUSER")
        case .largest:
            (
                ["ALTER TABLE ZBOOK ADD COLUMN ZSORTTITLE VARCHAR", "UPDATE ZBOOK SET ZSORTTITLE = upper(ZTITLE)"],
                "SELECT count(ZSORTTITLE) / 5 FROM ZBOOK"
            )
        case .split:
            (
                [
                    "CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
                    "INSERT INTO ZPERSON (Z_ENT, Z_OPT, ZNAME) SELECT DISTINCT 2, 1, ZNAME FROM ZUSER",
                    "CREATE INDEX byName ON ZPERSON (ZNAME)", "ALTER TABLE ZUSER ADD COLUMN ZPERSON INTEGER",
                    """
                    UPDATE ZUSER SET Z_ENT = 3, ZPERSON = (SELECT Z_PK FROM ZPERSON p WHERE p.ZNAME IS ZUSER.ZNAME)
                    """,
                    "DROP INDEX byName", "CREATE INDEX ZUSER_ZPERSON_INDEX ON ZUSER (ZPERSON)",
                    "ALTER TABLE Z_1USERS RENAME COLUMN Z_2USERS TO Z_3USERS",
                ], "SELECT count(ZPERSON) FROM ZUSER"
            )
        }
    }

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try subject.write(rows: point.rows, to: folder)
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
                for statement in byHand.statements { try connection.execute(statement) }
            }
            if isCareful { try require(Self.differingPages(of: copy, from: store, files) > 0, "differs in no page") }
        }
        let found =
            try Connection(path: isCareful ? copy : store, mode: .readOnly)
            .integer(byHand.count) ?? 0
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
