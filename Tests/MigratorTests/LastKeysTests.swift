import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The lowest and the highest possible keys in a whole migration.
@Suite("The lowest and the highest key")
struct LastKeysTests {
    private func change(_ small: SmallMigration, _ statement: String) throws {
        let connection = try Connection(path: small.store, mode: .readWrite)
        try connection.execute(statement)
    }

    @Test(
        "Objects with the lowest and the highest key are migrated, verified, and found again",
        arguments: [
            "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807",
            "UPDATE ZBOOK SET Z_PK = 9223372036854775807 WHERE Z_PK = 12",
            "UPDATE ZBOOK SET Z_PK = -9223372036854775807 WHERE Z_PK = 1",
            "DELETE FROM ZBOOK WHERE Z_PK > 1; UPDATE ZBOOK SET Z_PK = -9223372036854775807",
            "DELETE FROM ZBOOK WHERE Z_PK > 1; UPDATE ZBOOK SET Z_PK = 9223372036854775807",
        ])
    func keeps(_ statement: String) throws {
        let small = try SmallMigration()
        try change(small, statement)
        let keys = "SELECT group_concat(Z_PK) FROM (SELECT Z_PK FROM ZBOOK ORDER BY Z_PK)"
        let before = try Connection(path: small.store, mode: .readOnly).value(keys)
        let report = try small.migrator().migrate(.allowingLosses { $0.chunks.size = .rows(5) })
        #expect(report.outcome == .migrated)
        let after = try Connection(path: small.store, mode: .readOnly)
        #expect(try after.value(keys) == before)
        #expect(try after.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("The lowest key is an error that names its entity; the store stays unchanged")
    func lowest() throws {
        for statement in ["WHERE Z_PK = 1", "WHERE Z_PK = (SELECT min(Z_PK) FROM ZBOOK)"] {
            let small = try SmallMigration(rows: 3)
            try change(small, "UPDATE ZBOOK SET Z_PK = -9223372036854775808 \(statement)")
            let before = try Data(contentsOf: URL(fileURLWithPath: small.store))
            for _ in 0..<2 {
                let error = #expect(throws: FerryError.self) { try small.migrator().migrate(.allowingLosses()) }
                #expect(error?.code == .rowFailed && error?.message.contains("Book") == true)
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: small.store)) == before)
        }
    }

    @Test("New objects above the highest key are an error that names their entity; the store stays unchanged")
    func runsOut() throws {
        let small = try SmallMigration()
        try change(small, "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807")
        try small.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "name": "BookToBook", "source": "Book", "destination": "Book" },
              { "name": "BookAgain", "source": "Book", "destination": "Book" } ],
              "partitions": [["BookToBook", "BookAgain"]] }
            """, to: "One.json")
        let before = try Data(contentsOf: URL(fileURLWithPath: small.store))
        for _ in 0..<2 {
            let error = #expect(throws: FerryError.self) { try small.migrator().migrate(.allowingLosses()) }
            #expect(
                error?.code == .noKeysLeft && error?.message.contains("entity Book") == true,
                "\(String(describing: error))")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: small.store)) == before)
    }

    @Test("A memory limit above any machine's memory is refused before the run writes")
    func refusesTooMuch() throws {
        let small = try SmallMigration()
        for limit in [Int.max, Int.min, 1 << 62] {
            let error = #expect(throws: FerryError.self) {
                try small.migrator().migrate(.allowingLosses { $0.limits.memory = limit })
            }
            #expect(error?.code == .usage)
        }
    }

    @Test("A run's record with inconsistent steps is refused by every call that reads it")
    func refusesRecords() throws {
        let small = try SmallMigration()
        let held = #expect(throws: FerryError.self) {
            try small.migrator().migrate(.allowingLosses { $0.holdsSwap = true })
        }
        #expect(held?.code == .swapHeld)
        let path = small.store + ".ferry/run.json"
        let record = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
        for (key, value) in [("chain", [] as [Any]), ("checkedStep", 1 << 60)] as [(String, Any)] {
            var changed = record
            var migration = try #require(changed["migration"] as? [String: Any])
            migration[key] = value
            changed["migration"] = migration
            try JSONSerialization.data(withJSONObject: changed).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: FerryError.self) { try small.migrator().migrate(.allowingLosses()) }
            #expect(error?.code == .runDiffers)
            #expect(throws: FerryError.self) { try StoreFiles(URL(fileURLWithPath: small.store)).status() }
        }
    }
}
