import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("The statements of a plan")
struct StatementsTests {
    /// Compares the statements of a migration with the list in its plan.
    private func compare(
        _ migrator: Migrator, _ configuration: Configuration, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> (listed: Set<String>, run: Set<String>) {
        let listed = try migrator.statements(configuration).flatMap(\.groups).flatMap(\.statements).map(\.sql)
        let texts = SharedList<String>()
        var traced = configuration
        traced.verification = .none
        traced.trace = { if $0.kind == .statement { texts.append($0.text) } }
        #expect(try migrator.migrate(traced).outcome == .migrated, sourceLocation: sourceLocation)
        return (ListedStatements.changes(listed), ListedStatements.changes(texts.all))
    }

    @Test(
        "The listed statements run, in place and copied",
        arguments: [
            (ExecutorChoice.automatic, false), (.automatic, true), (.row, false), (.row, true),
        ])
    func listsWhatRuns(_ executor: ExecutorChoice, isAllCopies: Bool) throws {
        let mixed = try MixedMigration(isAllCopies: isAllCopies)
        var configuration = Configuration.allowingLosses()
        configuration.executor = executor
        let before = try Data(contentsOf: URL(fileURLWithPath: mixed.store))
        let (listed, run) = try compare(mixed.migrator(), configuration)
        #expect(!listed.isEmpty)
        #expect(run.subtracting(listed).sorted() == [])
        #expect(listed.subtracting(run).sorted() == [])
        // Listing changed nothing: the migration began with the original store.
        #expect(before != (try Data(contentsOf: URL(fileURLWithPath: mixed.store))))
    }

    @Test("A mapping with a policy is listed without calls of the policy")
    func passesOverPolicies() throws {
        let small = try SmallMigration(hasPolicy: true)
        let before = try Data(contentsOf: URL(fileURLWithPath: small.store))
        let names = try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted()
        let steps = try small.migrator().statements()
        #expect(steps.map(\.step) == [1, 2] && steps.allSatisfy { !$0.isInPlace })
        #expect(try Data(contentsOf: URL(fileURLWithPath: small.store)) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted() == names)
        let texts = steps[0].groups.flatMap(\.statements).map(\.sql)
        #expect(texts.contains { $0.contains("CREATE TABLE") && $0.contains("ZAUTHOR") })
    }

    @Test("A plan that cannot run is refused with the plan's reason, and a current store has no plan")
    func refuses() throws {
        let mixed = try MixedMigration()
        var configuration = Configuration.allowingLosses()
        configuration.target = "App 1"
        #expect(try mixed.migrator().statements(configuration).isEmpty)
        let migrator = try Migrator(
            store: URL(fileURLWithPath: mixed.store),
            models: [.url(URL(fileURLWithPath: mixed.folder.file("App.xcdatamodeld")))])
        configuration = Configuration.allowingLosses()
        configuration.infersMappings = false
        #expect(throws: FerryError.self) { try migrator.statements(configuration) }
    }

    @Test("A value is written as an SQL literal")
    func writesLiterals() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let values: [Value] = [
            .null, .integer(.min), .real(0.1), .real(-1e300), .real(.infinity), .real(-.infinity), .text(""),
            .text("it's ''"), .blob([]), .blob([0, 15, 16, 255]),
        ]
        for value in values { #expect(try connection.value("SELECT " + value.literal) == value) }
    }
}
