import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// Two neighbouring versions of a real model, each in a file of its own.
struct GeneratedPair {
    enum Outcome: Hashable {
        /// The two versions have equal hashes.
        case same
        /// In place and copied, each verified, with equal rows.
        case verified
        case unreachable
        /// The generated rows violate the new version; the run wrote nothing.
        case refused(FerryError.Code)
    }

    private let folder: TemporaryFolder
    private let catalog: ModelCatalog

    init(_ source: ModelVersion, _ destination: ModelVersion) throws {
        folder = try TemporaryFolder()
        var paths: [String] = []
        for (number, version) in [source, destination].enumerated() {
            let path = folder.file("\(number + 1).\(URL(fileURLWithPath: version.path).pathExtension)")
            try FileManager.default.copyItem(atPath: version.path, toPath: path)
            paths.append(path)
        }
        catalog = try ModelCatalog(paths: paths)
    }

    /// Migrates a generated store of the older version in place and copied.
    ///
    /// - Throws: The reason why the pair fails.
    func run() throws -> Outcome {
        let (source, target) = (try catalog.version(named: "1"), try catalog.version(named: "2"))
        guard source.hashes != target.hashes else { return .same }
        var configuration = Configuration.allowingLosses {
            $0.target = "2"
            $0.snapshots.form = .none
        }
        configuration.joinTables = StoreLayout.saidJoins(of: target.model)
        let plan = Planner(catalog: catalog, mappingModels: []).plan(
            from: source, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first {
            guard refusal.code == .unreachable else { throw refusal }
            return .unreachable
        }
        let original = folder.file("original.sqlite")
        try generate(source, at: original)
        let store = try Fixtures.copyStore(from: original, to: folder.file("Store.sqlite"))
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        do {
            let report = try Migrator(
                store: URL(fileURLWithPath: store),
                models: catalog.versions.map { .url(URL(fileURLWithPath: $0.path)) }
            ).migrate(configuration)
            guard report.mode == .inPlace else { throw failure("It went by \(report.mode).") }
        } catch let error as FerryError where [.mandatoryValue, .notUnique].contains(error.code) {
            guard try Data(contentsOf: URL(fileURLWithPath: store)) == before else { throw failure("It was written.") }
            return .refused(error.code)
        }
        let inPlace = try Connection(path: store, mode: .readWrite)
        guard try inPlace.value("PRAGMA integrity_check") == .text("ok") else { throw failure("It is damaged.") }
        let chain = try CopiedChain(plan.steps, from: original)
        let difference = try CopiedChain.difference(of: inPlace, from: chain, target)
        guard difference.isEmpty else { throw failure("In place and copied differ: \(difference)") }
        return .verified
    }

    /// Generates about three hundred related objects.
    private func generate(_ version: ModelVersion, at path: String) throws {
        let concrete = version.model.entities.values.count { !$0.isAbstract }
        let rows = Int64(max(8, 300 / concrete))
        try StoreGenerator(version, options: GenerationOptions(rows: rows, externalFileBytes: 1_000...2_000))
            .generate(at: path, files: FileLayer())
    }

    private func failure(_ message: String) -> FerryError { FerryError(.verificationFailed, message) }
}
