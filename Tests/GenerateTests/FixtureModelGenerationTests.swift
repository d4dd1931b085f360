import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Stores generated for real models, verified like migrated stores.
@Suite(.enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct FixtureModelGenerationTests {
    /// Every path below the fixtures that `ModelCatalog` reads as one model.
    private static let models: [String] = {
        var models: [String] = []
        for file in Fixtures.items {
            guard [".xcdatamodeld", ".xcdatamodel", ".momd", ".mom"].contains(where: file.hasSuffix),
                !models.contains(where: { file.hasPrefix($0 + "/") })
            else { continue }
            models.append(file)
        }
        return models.sorted()
    }()

    /// One model of each collection, without the sweep.
    private static var sample: [String] {
        if Sweep.isFull { return models }
        var seen: Set<String> = []
        return models.filter { seen.insert($0.split(separator: "/").prefix(2).joined(separator: "/")).inserted }
    }

    /// Returns the differences in a store generated for a version; nil for a version without a known layout.
    private static func differences(_ version: ModelVersion) throws -> [String]? {
        guard StoreLayout.refusals(for: version.model).isEmpty else { return nil }
        let folder = try TemporaryFolder()
        let path = folder.file("Store.sqlite")
        let options = GenerationOptions(rows: 23, externalFiles: 2, externalFileBytes: 10...100)
        try StoreGenerator(version, options: options).generate(at: path, files: FileLayer())
        let report = try Verification(ofStore: version, at: path, isNew: true, workFolder: folder.path).run()
        return report.differences.map { "\($0.check) \($0.entity ?? "") \($0.count) \($0.example ?? "")" }
    }

    @Test("A store of any real model passes every check of a store")
    func passesChecks() throws {
        var (stores, refused) = (0, 0)
        for path in Self.sample {
            let catalog: ModelCatalog
            do {
                catalog = try ModelCatalog(paths: [Fixtures.path(path)])
            } catch {
                #expect([.badModel, .badArchive].contains(error.code), "\(path): \(error.message)")
                continue
            }
            for version in Sweep.isFull ? catalog.versions : Array(catalog.versions.suffix(1)) {
                do {
                    guard let differences = try Self.differences(version) else {
                        refused += 1
                        continue
                    }
                    stores += 1
                    #expect(differences == [], "\(path) \(version.name)")
                } catch {
                    Issue.record("\(path) \(version.name): \(error)")
                }
            }
        }
        #expect(stores > 30 && refused < stores / 4)
    }
}
