import Ferry
import FerryBase
import FerryGenerate
import FerryMapping
import FerryModel
import FerryStore
import Foundation
import RandomModels
import TestSupport
import Testing

/// Random models with random mappings that keep every row, on generated stores.
@Suite("Random mappings in place")
struct RandomInPlaceTests {
    /// A few seeds in every run; as many as `FERRY_IN_PLACE` says otherwise.
    private static let count =
        ProcessInfo.processInfo.environment["FERRY_IN_PLACE"].flatMap { Int($0) } ?? 24

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Pair {
        let store: String
        let migrator: Migrator
        let folder: String

        func configuration(_ output: String?, _ executor: ExecutorChoice) -> Configuration {
            Configuration.allowingLosses {
                $0.target = "V2"
                $0.output = output.map { URL(fileURLWithPath: "\(folder)/\($0)") }
                $0.executor = executor
                $0.snapshots.form = .none
                $0.now = { Date(timeIntervalSinceReferenceDate: 700_000_000) }
            }
        }
    }

    /// Nil if the seed gives no models, or no mapping, that can be migrated.
    private func pair(_ seed: UInt64, _ kind: RandomMapping.Kind = .keepsRows) throws -> Pair? {
        var versions = RandomVersions(
            seed: seed, size: .init(entities: kind == .keepsRows ? 4 : 7, relationships: 5, attributes: 10))
        let models = versions.inferableModels(2)
        guard models.allSatisfy({ StoreLayout.refusals(for: $0).isEmpty && !$0.hasSelfJoin }) else { return nil }
        let place = folder.file("\(seed)")
        try FileLayer().createDirectory(place)
        let paths = try zip(["V1", "V2"], models).map { name, model in
            let path = "\(place)/\(name).mom"
            try FileLayer().replace(path, with: ArchivedModel.encode(model))
            return path
        }
        let (store, mapping) = ("\(place)/Store.sqlite", "\(place)/mapping.json")
        let options = GenerationOptions(rows: 20, seed: seed, emptyPercent: 25, usesWriteAheadLog: seed % 2 == 0)
        try StoreGenerator(ModelCatalog(paths: paths).version(named: "V1"), options: options)
            .generate(at: store, files: FileLayer())
        func migrator() throws -> Migrator {
            try Migrator(
                store: URL(fileURLWithPath: store), models: paths.map { .url(URL(fileURLWithPath: $0)) },
                mappings: [URL(fileURLWithPath: mapping)])
        }
        let random = RandomMapping(
            seed: seed, from: ModelVersion(of: models[0], name: "V1"), to: ModelVersion(of: models[1], name: "V2"),
            kind: kind)
        let text = try random.write(to: mapping) {
            try migrator().plan(.allowingLosses { $0.target = "V2" }, checksRows: true).refusals.isEmpty
        }
        guard text != nil else { return nil }
        return Pair(store: store, migrator: try migrator(), folder: place)
    }

    @Test("Give the rows of a copy, verified in full, and one store on the store itself and in the run folder")
    func agree() throws {
        var (made, seed, copies): (Int, UInt64, [String: Int]) = (0, 1, [:])
        while made < Self.count, seed < UInt64(20 * Self.count) {
            defer { seed += 1 }
            guard let pair = try pair(seed) else { continue }
            let step = try #require(pair.migrator.plan(pair.configuration(nil, .automatic)).steps.first)
            guard step.mode == .inPlace else {
                copies[step.reason, default: 0] += 1
                continue
            }
            made += 1
            do {
                _ = try pair.migrator.migrate(pair.configuration("Copy.sqlite", .set))
                _ = try pair.migrator.migrate(pair.configuration("Output.sqlite", .automatic))
                let report = try pair.migrator.migrate(pair.configuration(nil, .automatic))
                #expect(report.mode == .inPlace && report.verification.differences.isEmpty, "seed \(seed)")
                let rows = try [pair.store, "\(pair.folder)/Copy.sqlite"].map {
                    try StoreRows.text(atPath: $0)
                }
                #expect(rows[0] == rows[1], "seed \(seed)")
                #expect(
                    try DatabaseDump.text(pair.store) == DatabaseDump.text("\(pair.folder)/Output.sqlite"),
                    "seed \(seed)")
            } catch {
                Issue.record("seed \(seed): \(error) \((error as? FerryError)?.cause.map { "\($0)" } ?? "")")
            }
            try FileLayer().removeTree(pair.folder)
        }
        #expect(made == Self.count, "of \(seed - 1) seeds, copied: \(copies)")
    }

    /// Few seeds give such a pair, and searching for them takes minutes.
    @Test(
        "Leave tables where they are beside those that are filled, with the rows of a copy of all",
        .enabled(if: ProcessInfo.processInfo.environment["FERRY_IN_PLACE"] != nil))
    func keep() throws {
        var (made, seed, whole): (Int, UInt64, [String: Int]) = (0, 1, [:])
        while made < Self.count / 2, seed < UInt64(40 * Self.count) {
            defer { seed += 1 }
            guard let pair = try pair(seed, .keepsMostRows) else { continue }
            defer { try? FileLayer().removeTree(pair.folder) }
            let step = try #require(pair.migrator.plan(pair.configuration(nil, .automatic)).steps.first)
            let treatments = Set((step.tables ?? []).map(\.treatment))
            guard step.mode == .copy, !treatments.isDisjoint(with: [.kept, .altered]) else {
                let reasons = Set((step.tables ?? []).compactMap(\.reason)).filter { !$0.hasPrefix("entity mapping") }
                whole[step.mode == .copy ? reasons.sorted().joined(separator: "; ") : "in place", default: 0] += 1
                continue
            }
            made += 1
            do {
                _ = try pair.migrator.migrate(pair.configuration("Copy.sqlite", .set))
                let report = try pair.migrator.migrate(pair.configuration(nil, .automatic))
                #expect(report.verification.differences.isEmpty, "seed \(seed)")
                let rows = try [pair.store, "\(pair.folder)/Copy.sqlite"].map { try StoreRows.text(atPath: $0) }
                #expect(rows[0] == rows[1], "seed \(seed)")
            } catch {
                Issue.record("seed \(seed): \(error) \((error as? FerryError)?.cause.map { "\($0)" } ?? "")")
            }
        }
        #expect(made == Self.count / 2, "of \(seed - 1) seeds, others: \(whole)")
    }
}
