import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Copied steps that leave tables where they are.
@Suite("Tables that stay in a copied step")
struct KeptPartTests {
    private func configuration(_ output: URL?, _ executor: Configuration.Executor) -> Configuration {
        Configuration(
            target: "App 2", output: output, executor: executor, takesSnapshot: false,
            now: { Date(timeIntervalSinceReferenceDate: 0) })
    }

    private func treatments(_ plan: PlanReport) throws -> [String: String] {
        let tables = try #require(plan.steps.first?.tables)
        return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.treatment.rawValue) })
    }

    @Test("The plan tells each table's treatment, and the store gets the rows of a copy of all")
    func agree() throws {
        let small = try SmallMigration(rows: 400, keepsWriter: true)
        let migrator = try small.migrator()
        let plan = try migrator.plan(configuration(nil, .automatic))
        #expect(try treatments(plan) == ["ZBOOK": "altered", "ZAUTHOR": "filled"])
        let copy = URL(fileURLWithPath: small.folder.file("Copy.sqlite"))
        #expect(try treatments(migrator.plan(configuration(copy, .set))) == ["ZBOOK": "filled", "ZAUTHOR": "filled"])
        _ = try migrator.migrate(configuration(copy, .set))
        let report = try migrator.migrate(configuration(nil, .automatic))
        #expect(report.verification.differences.isEmpty && report.mode == .copy)
        #expect(try StoreRows.text(atPath: small.store) == StoreRows.text(atPath: copy.path))
        #expect(try Connection(path: small.store, mode: .readOnly).value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A store with damage that a copy heals fills all tables")
    func damaged() throws {
        let small = try SmallMigration(rows: 20, keepsWriter: true)
        let store = try Connection(path: small.store, mode: .readWrite)
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Book'")
        let plan = try small.migrator().plan(configuration(nil, .automatic), checksRows: true)
        let tables = try #require(plan.steps.first?.tables)
        let book = try #require(tables.first { $0.name == "ZBOOK" })
        #expect(book.treatment == .filled && book.reason?.contains("damage") == true)
        let report = try small.migrator().migrate(configuration(nil, .automatic))
        #expect(report.verification.differences.isEmpty)
    }
}
