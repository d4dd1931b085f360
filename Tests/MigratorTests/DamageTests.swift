import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Damage in the source store: found, treated by rule, and reported, in place and in a copy.
@Suite("A damaged store")
struct DamageTests {
    /// One kind of damage in a store of ``DamagedStore``, and its expected treatment.
    struct Case: Sendable, CustomTestStringConvertible {
        var kind: String
        var damage: [String]
        var entity: String
        var rows: Int64
        /// A query, and its rows after a copy and after a migration in place.
        var query: String
        var copied: [[Value]]
        var inPlace: [[Value]]
        /// Whether a migration in place repairs the damage, too.
        var isHealedInPlace = false
        var testDescription: String { "\(kind) \(entity)" }
    }

    static let cases: [Case] = [
        Case(
            kind: "danglingKey", damage: ["UPDATE ZBOOK SET ZOWNER = 9 WHERE Z_PK = 1"], entity: "Book", rows: 1,
            query: "SELECT Z_PK, ZOWNER, ZTITLE FROM ZBOOK WHERE Z_PK < 3 ORDER BY Z_PK",
            copied: [[.integer(1), .null, .text("a")], [.integer(2), .integer(2), .text("b")]],
            inPlace: [[.integer(1), .integer(9), .text("a")], [.integer(2), .integer(2), .text("b")]]),
        // A row of join tables to a missing row.
        Case(
            kind: "danglingKey", damage: ["INSERT INTO Z_1TAGS VALUES (2, 9, 4096), (8, 1, 2048)"], entity: "Book",
            rows: 2, query: "SELECT Z_2BOOKS, Z_6TAGS FROM Z_2TAGS ORDER BY 1, 2",
            copied: [
                [.integer(1), .integer(1)], [.integer(1), .integer(2)], [.integer(2), .integer(1)],
            ],
            inPlace: [
                [.integer(1), .integer(1)], [.integer(1), .integer(2)], [.integer(2), .integer(1)],
                [.integer(2), .integer(9)], [.integer(8), .integer(1)],
            ]),
        // A row of join tables without one of its keys.
        Case(
            kind: "danglingKey", damage: ["INSERT INTO Z_1TAGS VALUES (2, NULL, 4096), (NULL, 1, 2048)"],
            entity: "Book", rows: 2, query: "SELECT Z_2BOOKS, Z_6TAGS FROM Z_2TAGS ORDER BY 1, 2",
            copied: [
                [.integer(1), .integer(1)], [.integer(1), .integer(2)], [.integer(2), .integer(1)],
            ],
            inPlace: [
                [.null, .integer(1)], [.integer(1), .integer(1)], [.integer(1), .integer(2)], [.integer(2), .null],
                [.integer(2), .integer(1)],
            ]),
        Case(
            kind: "oneSidedInverse", damage: ["UPDATE ZCOVER SET ZBOOK = NULL WHERE Z_PK = 1"], entity: "Book", rows: 1,
            query: "SELECT b.ZCOVER, c.ZBOOK FROM ZBOOK AS b, ZCOVER AS c WHERE b.Z_PK = 1 AND c.Z_PK = 1",
            copied: [[.integer(1), .integer(1)]], inPlace: [[.integer(1), .null]]),
        Case(
            kind: "oneSidedInverse", damage: ["UPDATE ZBOOK SET ZCOVER = NULL WHERE Z_PK = 2"], entity: "Cover",
            rows: 1,
            query: "SELECT b.ZCOVER, c.ZBOOK FROM ZBOOK AS b, ZCOVER AS c WHERE b.Z_PK = 2 AND c.Z_PK = 2",
            copied: [[.integer(2), .integer(2)]], inPlace: [[.null, .integer(2)]]),
        // When two books claim a cover, the book that the cover names keeps the cover.
        Case(
            kind: "oneSidedInverse",
            damage: ["UPDATE ZBOOK SET ZCOVER = 2 WHERE Z_PK = 1; UPDATE ZCOVER SET ZBOOK = NULL WHERE Z_PK = 1"],
            entity: "Book", rows: 1, query: "SELECT Z_PK, ZCOVER FROM ZBOOK ORDER BY Z_PK",
            copied: [[.integer(1), .null], [.integer(2), .integer(2)], [.integer(3), .null]],
            inPlace: [[.integer(1), .integer(2)], [.integer(2), .integer(2)], [.integer(3), .null]]),
        Case(
            kind: "wrongEntity", damage: ["UPDATE ZBOOK SET Z3_OWNER = 3 WHERE Z_PK = 2"], entity: "Book", rows: 1,
            query: "SELECT Z4_OWNER FROM ZBOOK ORDER BY Z_PK", copied: [[.integer(4)], [.integer(5)], [.integer(4)]],
            inPlace: [[.integer(4)], [.integer(5)], [.integer(4)]], isHealedInPlace: true),
        // The row without a position comes first, as Core Data shows it.
        Case(
            kind: "missingOrder", damage: ["UPDATE ZBOOK SET Z_FOK_OWNER = NULL WHERE Z_PK = 3"], entity: "Book",
            rows: 1, query: "SELECT Z_PK, Z_FOK_OWNER FROM ZBOOK ORDER BY Z_PK",
            copied: [[.integer(1), .integer(3072)], [.integer(2), .integer(2048)], [.integer(3), .integer(2048)]],
            inPlace: [[.integer(1), .integer(2048)], [.integer(2), .integer(2048)], [.integer(3), .null]]),
        Case(
            kind: "missingOrder", damage: ["UPDATE Z_1TAGS SET Z_FOK_5TAGS = NULL WHERE Z_5TAGS = 2"], entity: "Book",
            rows: 1, query: "SELECT Z_2BOOKS, Z_6TAGS, Z_FOK_6TAGS FROM Z_2TAGS ORDER BY 1, 2",
            copied: [
                [.integer(1), .integer(1), .integer(3072)], [.integer(1), .integer(2), .integer(2048)],
                [.integer(2), .integer(1), .integer(2048)],
            ],
            inPlace: [
                [.integer(1), .integer(1), .integer(2048)], [.integer(1), .integer(2), .null],
                [.integer(2), .integer(1), .integer(2048)],
            ]),
        Case(
            kind: "lowMaximumKey", damage: ["UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Book'"], entity: "Book",
            rows: 1, query: "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'", copied: [[.integer(3)]],
            inPlace: [[.integer(3)]], isHealedInPlace: true),
        Case(
            kind: "missingFile",
            damage: [
                "UPDATE ZCOVER SET ZPHOTO = x'0230443541314634452d334336422d344537412d394135352d31423243334434453546363000' WHERE Z_PK = 2"
            ],
            entity: "Cover", rows: 1, query: "SELECT length(ZPHOTO) FROM ZCOVER WHERE Z_PK = 2",
            copied: [[.integer(38)]], inPlace: [[.integer(38)]]),
    ]

    @Test(
        "is migrated by rule, verified, and the report names the treatment", arguments: cases,
        DamagedStore.Way.allCases + [.policy])
    func rules(_ damage: Case, _ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: damage.damage)
        let plan = try store.migrator().plan(.allowingLosses { $0.target = "App 2" }, checksRows: true)
        #expect(plan.refusals.isEmpty)
        #expect(
            plan.warnings.contains {
                $0.message.contains(damage.entity) && $0.code == .damagedRows && $0.subject.entity == damage.entity
            })
        let report = try store.migrate()
        #expect(report.verification.differences.isEmpty)
        #expect(try store.rows(damage.query) == (way.isCopy ? damage.copied : damage.inPlace))
        let isHealed = damage.kind != "missingFile" && (way.isCopy || damage.isHealedInPlace)
        let healed = report.healed.filter { $0.kind.rawValue == damage.kind }
        let kept = report.kept.filter { $0.kind.rawValue == damage.kind }
        #expect(
            healed.contains { $0.entity == damage.entity && $0.rows == damage.rows } == isHealed, "\(report.healed)")
        #expect(kept.contains { $0.entity == damage.entity && $0.rows == damage.rows } == !isHealed, "\(report.kept)")
        #expect(try store.rows("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [[.integer(3)]])
        #expect(try store.open().value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A store without damage reports none", arguments: DamagedStore.Way.allCases)
    func sound(_ way: DamagedStore.Way) throws {
        let report = try DamagedStore(way).migrate()
        #expect(report.healed.isEmpty && report.kept.isEmpty && report.leftovers.isEmpty && report.warnings.isEmpty)
    }

    // MARK: --damaged

    private static let empty = ["UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 1"]
    private static let stranger = [
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 77, 1, 's')",
        "UPDATE ZBOOK SET ZOWNER = 3, Z3_OWNER = 77 WHERE Z_PK = 2",
    ]

    @Test(
        "Rows that no rule repairs are refused by default, and the store stays unchanged",
        arguments: DamagedStore.Way.allCases)
    func refuses(_ way: DamagedStore.Way) throws {
        for (damage, entity) in [(Self.empty, "Book"), (Self.stranger, "Person")] {
            let store = try DamagedStore(way, damage: damage)
            let before = try StoreBytes(store.store)
            let error = #expect(throws: FerryError.self) { try store.migrate() }
            #expect(error?.code == .damagedSource)
            #expect(error?.message.contains("1 row") == true && error?.message.contains(entity) == true)
            #expect(error?.remedy.description.contains("damaged = ") == true)
            #expect(try StoreBytes(store.store) == before)
        }
    }

    @Test("A missing mandatory value can be kept", arguments: DamagedStore.Way.allCases)
    func keepsEmptyValues(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.empty)
        let report = try store.migrate(.keep)
        #expect(report.verification.differences.isEmpty && report.healed.isEmpty)
        #expect(report.kept.map(\.kind) == [.missingValue] && report.kept.map(\.property) == ["title"])
        #expect(
            try store.rows("SELECT ZTITLE, ZCOVER FROM ZBOOK ORDER BY Z_PK")
                == [[.null, .integer(1)], [.text("b"), .integer(2)], [.text("c"), .null]])
    }

    @Test("A row without a mandatory value is dropped, with the links to it", arguments: DamagedStore.Way.allCases)
    func dropsEmptyValues(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.empty)
        let report = try store.migrate(.drop)
        #expect(report.verification.differences.isEmpty && report.kept.isEmpty)
        #expect(report.healed.map(\.kind) == [.missingValue] && report.healed.map(\.rows) == [1])
        let book = try #require(report.entityMappings.first { $0.destination == "Book" })
        #expect(book.read == 3 && book.written == 2 && book.dropped == 1)
        #expect(try store.rows("SELECT Z_PK FROM ZBOOK ORDER BY Z_PK") == [[.integer(2)], [.integer(3)]])
        #expect(try store.rows("SELECT ZBOOK FROM ZCOVER ORDER BY Z_PK") == [[.null], [.integer(2)], [.null]])
        #expect(try store.rows("SELECT Z_2BOOKS FROM Z_2TAGS") == [[.integer(2)]])
    }

    @Test(
        "Dropped rows are counted also where the step writes no other row",
        arguments: [DamagedStore.Way.inPlace, .inPlaceOutput])
    func countsDropped(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.empty, later: DamagedStore.withNote)
        let report = try store.migrate(.drop)
        let book = try #require(report.entityMappings.first { $0.destination == "Book" })
        #expect(book.read == 3 && book.written == 2 && book.dropped == 1 && book.isEstimated != true)
    }

    @Test(
        "A row of an unknown entity stays in place, and cannot be kept in a copy",
        arguments: [DamagedStore.Way.inPlace, .inPlaceOutput])
    func keepsUnknownRows(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.stranger)
        let report = try store.migrate(.keep)
        #expect(report.kept.contains { $0.kind == .unknownEntity && $0.entity == "Person" && $0.rows == 1 })
        #expect(
            try store.rows("SELECT Z_PK, Z_ENT FROM ZPERSON ORDER BY Z_PK")
                == [[.integer(1), .integer(4)], [.integer(2), .integer(5)], [.integer(3), .integer(77)]])
        #expect(try store.rows("SELECT ZOWNER FROM ZBOOK WHERE Z_PK = 2") == [[.integer(3)]])
        let copy = try DamagedStore(.copy, damage: Self.stranger)
        let error = #expect(throws: FerryError.self) { try copy.migrate(.keep) }
        #expect(error?.code == .damagedSource && error?.message.contains("cannot be kept") == true)
    }

    @Test(
        "A row whose unknown entity number gets a meaning, or whose table is rebuilt, is refused",
        arguments: [
            ("UPDATE ZPERSON SET Z_ENT = 5 WHERE Z_PK = 3", DamagedStore.later), ("", DamagedStore.withoutName),
        ])
    func refusesUnknownRows(_ damage: String, _ later: String) throws {
        let store = try DamagedStore(.inPlace, damage: Self.stranger + [damage], later: later)
        let before = try StoreBytes(store.store)
        let error = #expect(throws: FerryError.self) { try store.migrate(.keep) }
        #expect(error?.code == .damagedSource && error?.message.contains("cannot be kept") == true)
        #expect(try StoreBytes(store.store) == before)
    }

    @Test("A row of an unknown entity is dropped, with the links to it", arguments: DamagedStore.Way.allCases)
    func dropsUnknownRows(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(way, damage: Self.stranger)
        let report = try store.migrate(.drop)
        #expect(report.verification.differences.isEmpty)
        #expect(report.healed.contains { $0.kind == .unknownEntity && $0.entity == "Person" && $0.rows == 1 })
        #expect(try store.rows("SELECT Z_PK FROM ZPERSON ORDER BY Z_PK") == [[.integer(1)], [.integer(2)]])
        #expect(
            try store.rows("SELECT ZOWNER, Z4_OWNER, Z_FOK_OWNER FROM ZBOOK WHERE Z_PK = 2") == [[.null, .null, .null]])
    }

    @Test("A run cannot be resumed with another treatment of damaged rows")
    func resumesWithTheSame() throws {
        let store = try DamagedStore(.copy, damage: Self.empty)
        let migrator = try store.migrator()
        let stop = StopRequest()
        #expect(throws: FerryError.self) {
            try migrator.migrate(
                Configuration.allowingLosses {
                    $0.target = "App 2"
                    $0.executor = .set
                    $0.snapshots.form = .none
                    $0.damaged = .drop
                }, stop: stop
            ) {
                if case .phase(.rows, _) = $0 { stop.request(FerryError(.interrupted, "Enough.")) }
            }
        }
        let error = #expect(throws: FerryError.self) { try store.migrate(.keep) }
        #expect(error?.code == .runDiffers)
        let report = try store.migrate(.drop)
        #expect(report.resumed && report.healed.map(\.kind) == [.missingValue])
    }
}

extension DamagedStore {
    /// A later version with a new attribute and no other change.
    static let withNote = entities(book: #"<attribute name="note" optional="YES" attributeType="String"/>"#)

    /// A later version without a column, so that the table is rebuilt.
    static let withoutName = later.replacingOccurrences(
        of: #"<entity name="Person"><attribute name="name" optional="YES" attributeType="String"/>"#,
        with: #"<entity name="Person">"#)
}
