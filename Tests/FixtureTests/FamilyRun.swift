import Ferry
import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Foundation
import TestSupport

/// Migrates every store of a family to later versions, and compares each result with its source and with Core Data's
/// own stores of that version.
final class FamilyRun {
    /// Every difference.
    struct Findings: Sendable {
        /// Stores and versions without a chain, with the reason.
        var unreachable: [String: String] = [:]
        var failures: [String] = []
    }

    private let family: StoreFamily
    private let files: Family
    private let catalog: ModelCatalog
    private let mappings: [MappingModel]
    private let migrator: Migrator
    /// Real stores; no other code opens these copies.
    private var references: [Reference] = []
    private(set) var findings = Findings()

    private struct Reference {
        var name: String
        var path: String
        var metadata: StoreMetadata
    }

    init(_ family: StoreFamily) throws {
        self.family = family
        files = try family.copied()
        let folder = files.folder
        catalog = try ModelCatalog(paths: family.models.map(folder.file))
        mappings = try family.mappings.flatMap { try MappingFile.loadAll(path: folder.file($0), files: FileLayer()) }
        for store in family.stores {
            let path = try Fixtures.copyStore("\(family.name)/\(store)", into: folder, as: "reference-\(store)")
            let metadata = try StoreMetadata.read(from: Connection(path: path, mode: .readWrite))
            references.append(Reference(name: store, path: path, metadata: metadata))
        }
        try Fixtures.copyStore(from: references[0].path, to: folder.file("work.sqlite"))
        migrator = try Migrator(
            store: files.url("work.sqlite"), models: family.models.map { [files] in .url(files.url($0)) },
            mappings: family.mappings.map { [files] in files.url($0) })
    }

    func run() throws -> Findings {
        for (place, store) in references.enumerated() {
            guard let source = catalog.versions.lastIndex(where: { $0.hashes == store.metadata.hashes }) else {
                findings.failures.append("\(store.name) is of none of the versions")
                continue
            }
            for target in targets(after: source, of: place) {
                let name = "\(store.name) to \(catalog.displayName(of: target))"
                do {
                    try migrate(store, catalog.versions[source], target, name)
                } catch let error as FerryError where error.code == .unreachable {
                    findings.unreachable[name] = error.message
                } catch {
                    findings.failures.append("\(name): \(error)")
                }
            }
        }
        return findings
    }

    /// Returns the later versions with other hashes; of a long list only those with stores, in the short run only the
    /// next.
    private func targets(after source: Int, of store: Int) -> [ModelVersion] {
        var seen: Set = [catalog.versions[source].hashes]
        let later = catalog.versions[(source + 1)...].filter { seen.insert($0.hashes).inserted }
        guard catalog.versions.count > 20 else { return later }
        let real = later.filter { version in references.contains { $0.metadata.hashes == version.hashes } }
        let next = later.prefix(1).filter { version in !real.contains { $0.path == version.path } }
        return Sweep.isFull ? next + real : Array(real.prefix(1))
    }

    /// Copies take most of the time: in a long list of versions only chains to the next store's version are copied too.
    private func isCopied(_ chain: [String]) -> Bool {
        catalog.versions.count <= 20 || (Sweep.isFull && chain.count <= 16)
    }

    private func migrate(
        _ store: Reference, _ source: ModelVersion, _ target: ModelVersion, _ name: String
    ) throws {
        let work = files.folder.file("work.sqlite")
        for suffix in ["", "-wal", "-shm", ".ferry-log.json"]
        where FileManager.default.fileExists(atPath: work + suffix) {
            try FileManager.default.removeItem(atPath: work + suffix)
        }
        try Fixtures.copyStore(from: store.path, to: work)
        var configuration = Configuration.allowingLosses {
            $0.target = catalog.displayName(of: target)
            $0.snapshots.form = .none
        }
        // Core Data's own store of the version decides the names that no rule gives.
        if let reference = references.first(where: { $0.metadata.hashes == target.hashes }) {
            configuration.like = URL(fileURLWithPath: reference.path)
        } else {
            configuration.joinTables = StoreLayout.saidJoins(of: target.model)
        }
        let report = try migrator.migrate(configuration)
        let comparison = try StoreComparison(work, with: store.path)
        expect(try comparison.connection.value("PRAGMA integrity_check") == .text("ok"), name, "is damaged")
        expect(try StoreMetadata.read(from: comparison.connection).hashes == target.hashes, name, "has other hashes")
        expect(report.verification.differences.isEmpty, name, "\(report.verification.differences)")
        let lost = try comparison.lost(through: report.chain.map { try catalog.version(named: $0) })
        expect(lost.isEmpty, name, "lost \(lost)")
        for reference in references where reference.metadata.hashes == target.hashes {
            try compare(work, of: store, with: reference, target, name)
        }
        if report.mode == .inPlace, isCopied(report.chain) {
            try compareWithCopy(comparison.connection, store, source, target, report.chain, name)
        }
    }

    private func compare(
        _ work: String, of store: Reference, with reference: Reference, _ target: ModelVersion, _ name: String
    ) throws {
        let comparison = try StoreComparison(work, with: reference.path)
        let schema = try comparison.schemaDifferences().filter { !family.explains($0) }
        expect(schema.isEmpty, name, "is unlike \(reference.name): \(schema)")
        // The condition selects one store that Core Data migrated repeatedly.
        guard reference.metadata.uuid == store.metadata.uuid else { return }
        let differences = try StoreObjects.differences(
            work, reference.path, target, leavingOut: family.editedSince[reference.name] ?? [])
        if differences != family.changedSince["\(store.name), \(reference.name)", default: []] {
            findings.failures.append("\(name) is unlike what Core Data made of it in \(reference.name): \(differences)")
        }
    }

    private func compareWithCopy(
        _ inPlace: Connection, _ store: Reference, _ source: ModelVersion, _ target: ModelVersion, _ names: [String],
        _ name: String
    ) throws {
        // Copies with the same chain, and the same names.
        let layout = try StoreLayout.actual(for: target.model, on: inPlace)
        var (catalog, target) = (catalog, target)
        target.model.knownJoins = StoreLayout.openJoins(of: target.model).compactMap {
            layout.knownJoin($0, in: $0.table.relationship.entity)
        }
        if let reference = references.first(where: { $0.metadata.hashes == target.hashes }) {
            target.model.knownSchema = try KnownSchema(
                of: target.model, on: Connection(path: reference.path, mode: .readOnly))
        }
        for index in catalog.versions.indices where catalog.versions[index].hashes == target.hashes {
            catalog.versions[index].model.knownJoins = target.model.knownJoins
            catalog.versions[index].model.knownSchema = target.model.knownSchema
        }
        var planner = Planner(catalog: catalog, mappingModels: mappings)
        planner.route = ChainRoute(choice: .versions(names), origin: "the report")
        let plan = planner.plan(from: source, to: target, rows: [:], areRowsEstimated: true)
        let chain = try CopiedChain(plan.steps, from: store.path)
        let difference = try CopiedChain.difference(of: inPlace, from: chain, target)
        expect(difference.isEmpty, name, "differs in place and copied: \(difference)")
        for reference in references where reference.metadata.hashes == target.hashes {
            let order = try StoreComparison(chain.path, with: reference.path).columnOrderDifferences()
            let unexplained = order.filter { !family.otherOrder.contains($0) }
            expect(unexplained.isEmpty, name, "has columns in another order than \(reference.name): \(unexplained)")
        }
    }

    private func expect(_ isRight: Bool, _ name: String, _ finding: String) {
        if !isRight { findings.failures.append("\(name) \(finding)") }
    }
}

extension StoreLayout {
    /// Returns the names that the rules give to undecided join tables, in the form of the command line.
    static func saidJoins(of model: ManagedObjectModel) -> [String] {
        openJoins(of: model).filter(\.isSideOpen).map {
            "\($0.table.relationship.entity).\($0.table.relationship.property)"
        }
    }
}
