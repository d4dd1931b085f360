import FerryBase
import FerryMapping
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
    private static let bundles = bundles { $0 > 2 && (Sweep.isFull || $0 <= 16) }

    private static func bundles(of isWanted: (Int) -> Bool) -> [String] {
        let files = FileManager.default.enumerator(atPath: Fixtures.path(""))?.compactMap { $0 as? String } ?? []
        let counts = Dictionary(
            grouping: files.filter { $0.hasSuffix(".xcdatamodel") }, by: { ($0 as NSString).deletingLastPathComponent })
        return counts.filter { bundle, versions in
            bundle.hasSuffix(".xcdatamodeld") && isWanted(versions.count)
        }.keys.sorted()
    }

    @Test("The way with random names loses no more than that with the true ones", arguments: bundles)
    func order(_ bundle: String) throws {
        let versions = try ModelCatalog(paths: [Fixtures.path(bundle)]).versions.map(withoutIdentifiers)
        let catalog = ModelCatalog(versions: versions)
        let (first, last) = (catalog.versions[0], catalog.versions[catalog.versions.count - 1])
        guard first.hashes != last.hashes else { return }
        let known = plan(catalog, from: first, to: last)
        var random = SplitMix(seed: 29)
        for _ in 0..<(Sweep.isFull ? 3 : 1) {
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
        }
    }

    // MARK: Mapping models

    /// Bundles with mapping models in their folder.
    private static let mapped: [String] = bundles(of: { _ in true }).filter { bundle in
        (try? RenamedFamily(bundle))?.mappingModels.isEmpty == false
    }

    @Test("The way with mapping models and random names uses the same ones and loses no more", arguments: mapped)
    func orderWithMappingModels(_ bundle: String) throws {
        let family = try RenamedFamily(bundle)
        var random = SplitMix(seed: 29)
        var (compared, refused) = (0, 0)
        for source in family.versions.dropLast() where source.hashes != family.target.hashes {
            let known = family.plan(from: source)
            for _ in 0..<(Sweep.isFull ? 20 : 1) {
                let other = family.renamed(&random)
                let found = other.plan(from: try #require(other.versions.first { $0.hashes == source.hashes }))
                let way = "\(bundle): \(other.trueNames(found)), with true names \(family.trueNames(known))"
                #expect(found.refusals.count <= known.refusals.count, "\(way): \(found.refusals.map(\.message))")
                guard found.refusals.isEmpty, known.refusals.isEmpty else {
                    refused += 1
                    continue
                }
                compared += 1
                let more = found.losses.filter { !known.loses($0) }.map(\.name)
                let less = known.losses.filter { !found.loses($0) }.map(\.name)
                #expect(more.isEmpty, "\(way) loses \(more)")
                let unused = family.used(by: known).subtracting(other.used(by: found)).subtracting(Self.afterATie)
                #expect(unused.isEmpty || !less.isEmpty, "\(way) does not use \(unused.sorted())")
                let words = found.warnings.map(\.message) + found.notes
                let told = unused.allSatisfy { name in words.contains { $0.contains(name) } }
                #expect(told, "\(way) passes over \(unused.sorted()) in silence")
            }
        }
        #expect(compared + refused > 0 || family.versions.count < 2, "\(bundle): nothing was compared")
    }

    /// Mapping models from a version that has no more of the target than the version before it: only names tell that
    /// one follows the other.
    private static let afterATie: Set = ["UnCloudNotesMappingModel_v2_to_v3"]

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

extension MigrationPlan {
    /// Whether the plan loses what a loss of another plan is about, or all objects of its entity.
    fileprivate func loses(_ loss: ChainLoss) -> Bool {
        losses.contains { $0.entity == loss.entity && ($0.property == nil || $0.property == loss.property) }
    }
}

extension ChainLoss {
    fileprivate var place: String { [entity, property].compactMap { $0 }.joined(separator: ".") }
}

/// The versions of a bundle with the mapping models of its folder, under their own names or under random ones.
private struct RenamedFamily {
    private(set) var versions: [ModelVersion]
    private(set) var mappingModels: [MappingModel] = []
    /// The name in the fixtures, by the name here.
    private var names: [String: String] = [:]
    let target: ModelVersion

    init(_ bundle: String) throws {
        versions = try ModelCatalog(paths: [Fixtures.path(bundle)]).versions.map { version in
            var version = version
            version.model.versionIdentifiers = []
            return version
        }
        guard let last = versions.last else { throw FerryError(.notFound, "\(bundle) has no version.") }
        target = last
        let catalog = ModelCatalog(versions: versions)
        for version in versions { names[catalog.displayName(of: version)] = version.name }
        let folder = FileLayer.parent(of: Fixtures.path(bundle))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        for file in files where file.hasSuffix(".xcmappingmodel") {
            // The folder may have mapping models of other bundles, whose versions have the same names.
            guard let model = try? MappingFile.load(path: "\(folder)/\(file)"),
                let edges = try? MappingEdge.all(of: [model], in: catalog), !edges.isEmpty,
                edges.allSatisfy({ edge in
                    let entities = model.entityMappings
                    return entities.compactMap(\.source).allSatisfy { edge.source.model.entities[$0] != nil }
                        && entities.compactMap(\.destination).allSatisfy { edge.destination.model.entities[$0] != nil }
                })
            else { continue }
            mappingModels.append(model)
        }
    }

    /// The same versions and mapping models under random names, which order the versions at random.
    func renamed(_ random: inout SplitMix) -> RenamedFamily {
        var family = self
        var names = versions.indices.map { "N\($0)" }
        names.shuffle(using: &random)
        let catalog = ModelCatalog(versions: versions)
        var new: [String: String] = [:]
        family.names = [:]
        family.versions = zip(versions, names).map { version, name in
            new[catalog.displayName(of: version)] = name
            family.names[name] = version.name
            var version = version
            version.path = FileLayer.parent(of: version.path) + "/\(name).xcdatamodel"
            version.name = name
            version.isCurrent = version.hashes == target.hashes
            return version
        }
        family.mappingModels = mappingModels.map { model in
            var model = model
            guard let edge = try? MappingEdge.all(of: [model], in: catalog).first else { return model }
            model.sourceVersion = new[catalog.displayName(of: edge.source)] ?? model.sourceVersion
            model.destinationVersion = new[catalog.displayName(of: edge.destination)] ?? model.destinationVersion
            return model
        }
        return family
    }

    func plan(from source: ModelVersion) -> MigrationPlan {
        let catalog = ModelCatalog(versions: versions)
        let classes = mappingModels.flatMap { $0.entityMappings.compactMap(\.policyClassName) }
        let planner = Planner(
            catalog: catalog, mappingModels: mappingModels,
            policies: KnownPolicies(Dictionary(classes.map { ($0, []) }, uniquingKeysWith: { first, _ in first })),
            composes: false)
        return planner.plan(
            from: source, to: catalog.versions.first { $0.hashes == target.hashes } ?? target,
            rows: source.model.entities.mapValues { $0.isAbstract ? 0 : 10 }, areRowsEstimated: false)
    }

    /// The chain of a plan by the names of the fixtures.
    func trueNames(_ plan: MigrationPlan) -> String { plan.chain.map { names[$0] ?? $0 }.joined(separator: " → ") }

    func used(by plan: MigrationPlan) -> Set<String> {
        Set(plan.steps.flatMap { $0.resolved.mappingModels.filter { !$0.isInferred }.map(\.name) })
    }
}
