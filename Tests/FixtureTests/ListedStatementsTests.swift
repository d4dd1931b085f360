import Ferry
import FerryBase
import FerryModel
import FerryStore
import Foundation
import TestSupport
import Testing

/// The statements that `ferry plan --sql` prints are those that a run takes, on models and stores that others made.
@Suite("The statements of plans for real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct ListedStatementsTests {
    @Test(
        "are the statements that change data, one by one", arguments: StoreFamily.some,
        [ExecutorChoice.automatic, .row])
    func areThoseOfTheRun(_ family: StoreFamily, _ executor: ExecutorChoice) throws {
        let files = try family.copied()
        let catalog = try ModelCatalog(paths: family.models.map(files.folder.file))
        var compared = 0
        let target = try #require(catalog.versions.last)
        // Chains through many versions take long, and their steps are much alike.
        for (place, store) in family.stores.suffix(catalog.versions.count > 20 ? 2 : 3).enumerated() {
            let name = "work-\(place).sqlite"
            _ = try Fixtures.copyStore("\(family.name)/\(store)", into: files.folder, as: name)
            let migrator = try Migrator(
                store: files.url(name), models: family.models.map { .url(files.url($0)) },
                mappings: family.mappings.map { files.url($0) })
            var configuration = Configuration.allowingLosses {
                $0.target = catalog.displayName(of: target)
                $0.snapshots.form = .none
            }
            configuration.verification = .none
            configuration.executor = executor
            configuration.joinTables = StoreLayout.saidJoins(of: target.model)
            let plan = try migrator.plan(configuration)
            #expect(plan.refusals.isEmpty, "\(family.name)/\(store)")
            guard plan.refusals.isEmpty, !plan.steps.isEmpty else { continue }
            let listed = try migrator.statements(configuration).flatMap(\.groups).flatMap(\.statements)
            let texts = SharedList<String>()
            configuration.trace = { if $0.kind == .statement { texts.append($0.text) } }
            _ = try migrator.migrate(configuration)
            let run = ListedStatements.changes(texts.all)
            #expect(run.subtracting(listed.map(\.sql)).sorted() == [], "\(family.name)/\(store)")
            // A table without rows has no chunks.
            let always = ListedStatements.changes(listed.filter { $0.form == .once }.map(\.sql))
            #expect(always.subtracting(run).sorted() == [], "\(family.name)/\(store)")
            compared += run.count
        }
        #expect(compared > 0)
    }
}
