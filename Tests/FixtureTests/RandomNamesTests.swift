import FerryBase
import FerryModel
import FerryPlan
import Foundation
import TestSupport
import Testing

/// The way through the versions of real models, whose names tell nothing.
@Suite("Versions with random names", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct RandomNamesTests {
    /// The bundles of the fixtures with more than two versions, by their paths below the folder.
    ///
    /// With `FERRY_SWEEP=1` the largest too.
    private static let bundles: [String] = {
        let files = FileManager.default.enumerator(atPath: Fixtures.path(""))?.compactMap { $0 as? String } ?? []
        let counts = Dictionary(
            grouping: files.filter { $0.hasSuffix(".xcdatamodel") }, by: { ($0 as NSString).deletingLastPathComponent })
        return counts.filter { bundle, versions in
            bundle.hasSuffix(".xcdatamodeld") && versions.count > 2 && (Sweep.isFull || versions.count <= 16)
        }.keys.sorted()
    }()

    @Test("The way with random names loses no more than that with the true ones", arguments: bundles)
    func order(_ bundle: String) throws {
        let versions = try ModelCatalog(paths: [Fixtures.path(bundle)]).versions.map(withoutIdentifiers)
        let catalog = ModelCatalog(versions: versions)
        let (first, last) = (catalog.versions[0], catalog.versions[catalog.versions.count - 1])
        guard first.hashes != last.hashes else { return }
        let known = plan(catalog, from: first, to: last)
        var random = SplitMix(seed: 29)
        for _ in 0..<3 {
            var names = versions.indices.map { "N\($0)" }
            names.shuffle(using: &random)
            let renamed = zip(versions, names).map { version, name in
                var version = version
                version.path = FileLayer.parent(of: version.path) + "/\(name).xcdatamodel"
                version.name = name
                version.isCurrent = version.hashes == last.hashes
                return version
            }
            let other = ModelCatalog(versions: renamed)
            let ends = [first, last].compactMap { end in other.versions.first { $0.hashes == end.hashes } }
            let found = plan(other, from: try #require(ends.first), to: try #require(ends.last))
            #expect(found.refusals.count <= known.refusals.count, "\(found.refusals.map(\.message))")
            guard found.refusals.isEmpty, known.refusals.isEmpty else { continue }
            let more = Set(found.losses.map(\.place)).subtracting(known.losses.map(\.place))
            #expect(more.isEmpty, "\(bundle): \(found.chain) loses \(more.sorted()), \(known.chain) does not")
            print(
                "\(bundle): \(known.losses.count) lost in \(known.chain.count - 1) steps, with random names "
                    + "\(found.losses.count) in \(found.chain.count - 1)")
        }
    }

    private func withoutIdentifiers(_ version: ModelVersion) -> ModelVersion {
        var version = version
        version.model.versionIdentifiers = []
        return version
    }

    private func plan(_ catalog: ModelCatalog, from source: ModelVersion, to target: ModelVersion) -> MigrationPlan {
        Planner(catalog: catalog, mappingModels: [], composes: false)
            .plan(
                from: source, to: target, rows: source.model.entities.mapValues { $0.isAbstract ? 0 : 10 },
                areRowsEstimated: false)
    }
}

extension ChainLoss {
    fileprivate var place: String { [entity, property].compactMap { $0 }.joined(separator: ".") }
}
