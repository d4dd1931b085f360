import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// A migration as a folder of text: two models, `source.sql`, `mapping.json`, and the result in `expected.txt`.
///
/// Without `mapping.json` the mapping is inferred.
struct Case: CustomTestStringConvertible {
    static let folder = Fixtures.packageRoot + "/Tests/CaseTests/Cases"

    static let all: [Case] = {
        // Empty without the folder: `CaseTests` requires cases.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().map { Case(name: $0) }
    }()

    var name: String
    var path: String { "\(Self.folder)/\(name)" }
    var testDescription: String { name }

    /// The result of the case's run.
    struct Outcome {
        var destination: String
        var counts: [EntityMappingCounts]
        var verification: VerificationSummary

        /// Returns the destination's rows and the counts, in the form of `expected.txt`.
        func text() throws -> String {
            let counts = counts.map {
                "\($0.name): read \($0.read), written \($0.written), dropped \($0.dropped), merged \($0.merged)"
            }
            return counts.joined(separator: "\n") + "\n\n"
                + (try DatabaseDump.text(destination, leavingOut: ["Z_METADATA"]))
        }
    }

    /// Makes the source store in a folder and plans the case's step.
    func prepare(
        in folder: TemporaryFolder, chunkSize: ChunkSize, executor: ExecutorChoice = .automatic,
        policy: PolicyFactory? = nil, ofMapping only: Int? = nil, keepsTables: Bool = false, vfs: VFS? = nil
    ) throws -> StepRun {
        let catalog = try ModelCatalog(paths: ["\(path)/Model 1.xcdatamodel", "\(path)/Model 2.xcdatamodel"])
        let source = try catalog.version(named: "Model 1")
        let target = try catalog.version(named: "Model 2")
        let store = folder.file("source.sqlite")
        if !FileManager.default.fileExists(atPath: store) { try makeStore(at: store, version: source) }
        var mappingModels = isInferred ? [] : [try MappingFile.load(path: mapping)]
        let registry = PolicyRegistry(policy.map { ["Policy": $0] } ?? [:])
        if policy != nil {
            for index in mappingModels.indices { mappingModels[index].givePolicies("Policy", only: only) }
        }
        let planner = Planner(
            catalog: catalog, mappingModels: mappingModels, policies: registry.known, executor: executor)
        let plan = planner.plan(from: source, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: store, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: chunkSize, now: Self.now, vfs: vfs), policies: registry,
            keepsTables: keepsTables)
    }

    var mapping: String { "\(path)/mapping.json" }
    var isInferred: Bool { !FileManager.default.fileExists(atPath: mapping) }

    /// Plans, runs and verifies the case in a folder.
    func run(
        in folder: TemporaryFolder, chunkSize: ChunkSize, executor: ExecutorChoice = .automatic,
        policy: PolicyFactory? = nil
    ) throws -> Outcome {
        try complete(prepare(in: folder, chunkSize: chunkSize, executor: executor, policy: policy))
    }

    /// Runs and verifies the prepared step.
    func complete(_ run: StepRun) throws -> Outcome {
        if run.step.keepsTables {
            try FileManager.default.copyItem(atPath: run.sourcePath, toPath: run.destinationPath)
        }
        let report = try run.run()
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: Self.now,
            policies: report.policies)
        verification.told = ToldLoss.of(run.step.resolved, reported: nil)
        verification.subject = .copied(keeping: run.step.keptPart?.roots ?? [])
        let found = try verification.run()
        try run.finish()
        return Outcome(destination: run.destinationPath, counts: report.counts, verification: found)
    }

    static let now = 700_000_000.0

    /// Makes the source store.
    func makeStore(at path: String, version: ModelVersion) throws {
        let connection = try Connection(path: path, mode: .create)
        let layout = try StoreLayout.canonical(for: version.model)
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: [:], on: connection)
        for index in layout.indexes { try connection.execute(index.sql) }
        try StoreMetadata.new(for: version, uuid: "6F0E4A5C-0B0E-4C35-9B51-6C9A0B8C3E11").write(to: connection)
        try connection.execute(try String(contentsOfFile: "\(self.path)/source.sql", encoding: .utf8))
    }
}

extension MappingModel {
    /// Gives a policy to every mapping that may have one.
    fileprivate mutating func givePolicies(_ name: String, only: Int?) {
        for index in entityMappings.indices
        where only ?? index == index && entityMappings[index].source != nil && entityMappings[index].iteration == nil
            && entityMappings[index].unique.isEmpty
        {
            entityMappings[index].policyClassName = name
        }
    }
}
