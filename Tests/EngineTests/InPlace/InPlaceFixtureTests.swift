import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("Real stores in place", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct InPlaceFixtureTests {
    /// Families with a store per version, and the least number of their stores with a next version.
    static let families = [("wire-zmessaging", 8), ("duckduckgo-bookmarks", 3), ("jeffreybergier-migrationtests", 4)]

    @Test("Each store migrates to its next version in place as copied", arguments: families)
    func neighbours(family: String, atLeast least: Int) throws {
        let catalog = ModelCatalog(versions: try FixtureModels.sources(below: family))
        var done = 0
        for store in Fixtures.stores where store.hasPrefix(family + "/") {
            let folder = try TemporaryFolder()
            let path = try Fixtures.copyStore(store, into: folder)
            let connection = try Connection(path: path, mode: .readWrite)
            let hashes = try StoreMetadata.read(from: connection).hashes
            guard let place = catalog.versions.lastIndex(where: { $0.hashes == hashes }),
                let next = catalog.versions[place...].first(where: { $0.hashes != hashes })
            else { continue }
            let plan = Planner(catalog: catalog, mappingModels: []).plan(
                from: catalog.versions[place], to: next, rows: [:], areRowsEstimated: true)
            guard plan.refusals.isEmpty, let step = plan.steps.first, plan.steps.count == 1 else { continue }
            let name = "\(store) to \(next.name)"
            // Links that get another form are filled.
            guard step.mode == .inPlace else { continue }
            do {
                try compare(step, path, connection, folder, name)
                done += 1
            } catch {
                Issue.record("\(name): \(error)")
            }
        }
        #expect(done >= least)
    }

    private func compare(
        _ step: StepPlan, _ path: String, _ connection: Connection, _ folder: TemporaryFolder, _ name: String
    ) throws {
        let copy = try Fixtures.copyStore(from: path, to: folder.file("source.sqlite"))
        let options = EngineOptions(chunkSize: .automatic, now: 700_000_000)
        let run = StepRun(
            step: step, sourcePath: copy, isSourcePrivate: false, folder: folder.path, options: options)
        _ = try run.run()
        try run.finish()
        try StepRun.inStore(step, on: connection, options: options)
        let copied = try Connection(path: run.destinationPath, mode: .readWrite)
        // Dead columns of earlier versions stay in a table that is not rebuilt.
        let layout = try StoreLayout.canonical(for: step.resolved.destination.model)
        let known = Set(layout.tables.values.flatMap { $0.columns.map(\.name) })
        let actual = try StoreLayout.actual(for: step.resolved.destination.model, on: connection)
        let dead = Set(actual.tables.values.flatMap { $0.columns.map(\.name) }).subtracting(known)
        let (left, right) = (try StoreRows.text(connection, leavingOut: dead), try StoreRows.text(copied))
        if left != right { Issue.record("\(name):\n\(difference(left, right))") }
        #expect(try connection.value("PRAGMA quick_check") == .text("ok"), "\(name)")
    }

    private func difference(_ left: String, _ right: String) -> String {
        let (old, new) = (left.split(separator: "\n"), right.split(separator: "\n"))
        let lines = new.difference(from: old).prefix(12).map { change in
            switch change {
            case .insert(_, let line, _): "copy:     \(line.prefix(300))"
            case .remove(_, let line, _): "in place: \(line.prefix(300))"
            }
        }
        return lines.joined(separator: "\n")
    }
}
