import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The table of losses lists the rows that `--damaged drop` leaves out.
@Suite("Losses by damage")
struct DamageLossTests {
    private static let stranger = "INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT) VALUES (7, 99, 1)"
    private static let untitled = "UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 1"

    private func configuration(_ stage: DamagedStore) -> Configuration {
        Configuration.allowingLosses {
            $0.target = "App 2"
            $0.output = stage.way == .inPlaceOutput ? URL(fileURLWithPath: stage.result) : nil
            $0.executor = stage.way.executor
            $0.snapshots.form = .none
            $0.damaged = .drop
        }
    }

    private func told(_ losses: [Loss]) -> [String] {
        losses.map { "\($0.name) \($0.rows.map(String.init) ?? "?"): \($0.because)" }.sorted()
    }

    @Test("Plan and report list the losses, with their numbers", arguments: DamagedStore.Way.allCases)
    func told(_ way: DamagedStore.Way) throws {
        let stage = try DamagedStore(way, damage: [Self.stranger, Self.untitled])
        let expected = [
            "Book 1: damage: no value of title", "Cover 1: damage: a Z_ENT of an entity that is not in the table",
        ]
        let plan = try stage.migrator().plan(configuration(stage), checksRows: true)
        #expect(told(plan.losses) == expected)
        #expect(plan.losses.allSatisfy { !$0.isEstimated })
        let report = try stage.migrate(.drop)
        #expect(told(report.losses) == expected)
        #expect(try stage.rows("SELECT count(*) FROM ZBOOK") == [[.integer(2)]])
    }

    @Test("Kept damage is no loss", arguments: [DamagedStore.Way.inPlace])
    func kept(_ way: DamagedStore.Way) throws {
        let stage = try DamagedStore(way, damage: [Self.untitled])
        #expect(try stage.migrate(.keep).losses.isEmpty)
    }

    @Test("A missing mandatory value of objects that a mapping with `keep` merges is damage, too")
    func merged() throws {
        let stage = try DamagedStore(.copy, damage: [Self.untitled])
        let map = stage.folder.file("Mappings/Map.json")
        let text = try String(contentsOfFile: map, encoding: .utf8).replacingOccurrences(
            of: #""name": "Book","#, with: #""name": "Book", "unique": ["title"], "keep": "last","#)
        try FileLayer().replace(map, with: Array(text.utf8))
        var configuration = configuration(stage)
        // Objects with new keys cannot be kept so.
        for treatment in [DamagedRows.refuse, .keep] {
            configuration.damaged = treatment
            let plan = try stage.migrator().plan(configuration, checksRows: true)
            #expect(plan.refusals.map(\.code) == [.damagedSource])
        }
        #expect(try told(stage.migrate(.drop).losses).contains("Book 1: damage: no value of title"))
        #expect(try stage.rows("SELECT count(*) FROM ZBOOK") == [[.integer(2)]])
    }
}
