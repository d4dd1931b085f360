import FerryBase
import FerryEngine
import FerryGenerate
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// A chain of versions over a small store, migrated in one pass and step by step.
struct ComposedChain {
    private let folder: TemporaryFolder
    private let path: String
    private let versions: [ModelVersion]
    private let mappingModels: [MappingModel]

    enum Way: String, Sendable, CaseIterable {
        case inPlace, copy
    }

    init(
        _ models: [ManagedObjectModel], maximumKeys: [String: Int64] = [:], mappingModels: [MappingModel] = [],
        rows: [String]
    ) throws {
        let store = try StoreBuilder(models[0], maximumKeys: maximumKeys)
        for sql in rows { try store.connection.execute(sql) }
        (folder, path) = (store.folder, store.path)
        self.mappingModels = mappingModels
        versions = Self.versions(of: models)
    }

    /// Makes a chain over generated rows.
    init(_ models: [ManagedObjectModel], rows: Int64, seed: UInt64, mappingModels: [MappingModel] = []) throws {
        folder = try TemporaryFolder()
        path = folder.file("Store.sqlite")
        versions = Self.versions(of: models)
        self.mappingModels = mappingModels
        var options = GenerationOptions(rows: rows, seed: seed, emptyPercent: 20)
        options.usesWriteAheadLog = false
        try StoreGenerator(versions[0], options: options).generate(at: path, files: FileLayer())
    }

    private static func versions(of models: [ManagedObjectModel]) -> [ModelVersion] {
        models.enumerated().map { index, model in
            let isSeen = models[..<index].contains { VersionHash.hashes(of: $0) == VersionHash.hashes(of: model) }
            return ModelVersion(of: isSeen ? model.marked("V\(index + 1)") : model, name: "V\(index + 1)")
        }
    }

    func plan(composes: Bool = true) throws -> MigrationPlan {
        var planner = Planner(
            catalog: ModelCatalog(versions: versions), mappingModels: mappingModels,
            composes: composes)
        // The route passes every version, because the planner composes neighbouring steps.
        planner.route = ChainRoute(choice: .versions(versions.map(\.name)), origin: "the test")
        let plan = planner.plan(from: versions[0], to: versions[versions.count - 1], rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return plan
    }

    private var options: EngineOptions { EngineOptions(chunkSize: .rows(7), now: 700_000_000) }

    /// Migrates a copy of the store along the chain.
    func run(_ way: Way, composes: Bool = true, trace: TraceHook? = nil) throws -> Connection {
        let steps = try plan(composes: composes).steps
        return try way == .inPlace ? inPlace(steps, trace) : copied(steps)
    }

    private func inPlace(_ steps: [StepPlan], _ trace: TraceHook?) throws -> Connection {
        let copy = folder.file("InPlace-\(UUID().uuidString).sqlite")
        try Fixtures.copyStore(from: path, to: copy)
        let connection = try Connection(path: copy, mode: .readWrite, trace: trace)
        // The store need not survive a crash of the machine.
        try connection.execute("PRAGMA synchronous = OFF")
        for step in steps { try StepRun.inStore(step, on: connection, options: options) }
        return connection
    }

    private func copied(_ steps: [StepPlan]) throws -> Connection {
        var source = path
        for step in steps {
            let folder = folder.file("run-\(UUID().uuidString)")
            try FileLayer().createDirectory(folder)
            let run = StepRun(
                step: step.filled(), sourcePath: source, isSourcePrivate: true, folder: folder, options: options,
                keepsTables: true)
            try FileLayer().copy(source, to: run.destinationPath)
            let report = try run.run()
            var verification = Verification(
                mode: .full, step: step.resolved, sourcePath: source, isSourcePrivate: true,
                destinationPath: run.destinationPath, workFolder: folder, counts: report.counts, now: options.now)
            verification.told = ToldLoss.of(step.resolved, reported: nil)
            // Nothing asks beforehand, as a run does, for rows that break a constraint of the new version.
            let differences = try verification.run().differences.filter { $0.check != .constraints }
            #expect(differences.isEmpty, "\(step.versions): \(differences)")
            try run.finish()
            source = run.destinationPath
        }
        return try Connection(path: source, mode: .readWrite)
    }

    /// Migrates by both ways, each in one pass and step by step, and compares all results; returns the store of one
    /// pass, in place where possible.
    @discardableResult
    func compare(passes: Int? = 1, ways: [Way] = Way.allCases) throws -> Connection {
        let plan = try plan()
        if let passes {
            #expect(plan.steps.count == passes, "\(plan.steps.compactMap(\.isApartBecause))")
        }
        var result: Connection?
        for way in ways where way != .inPlace || plan.isInPlace {
            let composed = try run(way)
            let stepwise = try run(way, composes: false)
            #expect(try Self.dump(composed) == Self.dump(stepwise), "\(way)")
            #expect(try composed.value("PRAGMA integrity_check") == .text("ok"))
            result = result ?? composed
        }
        return try #require(result)
    }

    static func dump(_ connection: Connection) throws -> String {
        var lines: [String] = []
        // An index that one of several steps makes anew loses its statistics.
        try DatabaseDump(leavingOut: ["sqlite_stat1"], sortsColumns: true).write(connection) { lines.append($0) }
        return lines.joined(separator: "\n")
    }
}

extension ManagedObjectModel {
    /// Returns the model as another version, which differs in one entity's hash.
    fileprivate func marked(_ mark: String) -> ManagedObjectModel {
        var entities = entities
        if let name = sortedEntityNames.first { entities[name]?.versionHashModifier = mark }
        return ManagedObjectModel(versionIdentifiers: versionIdentifiers, entities: Array(entities.values))
    }
}
