import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// What `print(report)` and a log say.
@Suite("The descriptions of reports and events")
struct ReportDescriptionTests {
    @Test("are sentences, from the plan to the rollback")
    func sentences() throws {
        let small = try SmallMigration(rows: 20)
        let migrator = try small.migrator()
        #expect(try "\(migrator.identify())" == "App.sqlite is of version App 1.")
        let plan = try "\(migrator.plan())"
        #expect(plan.hasPrefix("App.sqlite would be migrated from App 1 to App 2 to App 3 in about "), "\(plan)")
        let rehearsal = try "\(migrator.rehearse())"
        #expect(rehearsal.contains(" The longest unit took "), "\(rehearsal)")
        let events = SharedList<String>()
        let report = try migrator.migrate { events.append("\($0)") }
        let text = "\(report)"
        #expect(text.hasPrefix("App.sqlite was migrated from App 1 to App 2 to App 3 by a copy in "), "\(text)")
        #expect(text.hasSuffix("Verification (full) found no differences."), "\(text)")
        #expect(events.all.first?.hasPrefix("App.sqlite would be migrated") == true && events.all.last == text)
        #expect(events.all.contains("Phase rows of step 1"))
        #expect(events.all.allSatisfy { $0.count < 1000 })
        #expect(try "\(migrator.migrate(.allowingLosses()))" == "App.sqlite is of version App 3 already.")
        let rollback = try "\(StoreFiles(URL(fileURLWithPath: small.store)).rollback())"
        #expect(
            rollback.hasPrefix("App.sqlite has the content of ") && rollback.hasSuffix(", version App 1."),
            "\(rollback)")
    }

    @Test("tell a refusal, and differences")
    func refusals() throws {
        let small = try SmallMigration(rows: 20)
        let migrator = try small.migrator()
        let plan = try migrator.plan(.allowingLosses { $0.target = "App 1" })
        #expect("\(plan)" == "App.sqlite is of version App 1 already.")
        let refused = try migrator.plan(.allowingLosses { $0.repairs.removals = ["nothing"] })
        #expect("\(refused)".hasPrefix("App.sqlite cannot be migrated: "), "\(refused)")
        var summary = try migrator.migrate(.allowingLosses { $0.verification = .none }).verification
        #expect("\(summary)" == "It was not verified.")
        summary.mode = .quick
        summary.differences = try JSONDecoder().decode(
            [VerificationSummary.Difference].self,
            from: Data(#"[{"check": "counts", "entity": "Book", "count": 1200, "example": "key 7"}]"#.utf8))
        #expect(
            "\(summary)" == "Verification (quick) found differences: 1,200 of counts in Book, such as key 7.",
            "\(summary)")
    }
}
