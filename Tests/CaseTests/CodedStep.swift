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

/// A whole step between two models made in code, verified.
enum CodedStep {
    /// Runs and verifies a step that maps entities to those with the same name.
    static func run(
        _ store: String, _ source: ModelVersion, to model: ManagedObjectModel, dropping dropped: Set<String> = [],
        merging merged: [String: [String]] = [:], in folder: TemporaryFolder,
        chunkSize: ChunkSize = .rows(7)
    ) throws -> (connection: Connection, report: StepReport) {
        let run = try prepare(
            store, source, to: model, dropping: dropped, merging: merged, in: folder, chunkSize: chunkSize)
        return try complete(run)
    }

    static func prepare(
        _ store: String, _ source: ModelVersion, to model: ManagedObjectModel, dropping dropped: Set<String> = [],
        merging merged: [String: [String]] = [:], in folder: TemporaryFolder,
        chunkSize: ChunkSize = .rows(7), attributes: [String: AttributeRule] = [:], vfs: VFS? = nil
    ) throws -> StepRun {
        let target = ModelVersion(of: model, name: "New")
        var mapping = MappingModel(
            name: "Step", path: "", sourceVersion: source.name, destinationVersion: target.name, entityMappings: [])
        for entity in source.model.sortedEntityNames where !dropped.contains(entity) {
            guard source.model.entities[entity]?.isAbstract == false, model.entities[entity] != nil else { continue }
            mapping.entityMappings.append(
                EntityMapping(
                    name: entity, source: entity, destination: entity, unique: merged[entity] ?? [],
                    attributes: attributes))
        }
        var plan = Planner(catalog: ModelCatalog(versions: [source, target]), mappingModels: [mapping])
            .plan(from: source, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        plan.steps[0].needsCopyBecause = "the test copies all rows"
        plan.fillAllTables(because: "the test copies all rows")
        plan.keepsSurroundings = true
        let run = StepRun(
            step: plan.steps[0], sourcePath: store, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: chunkSize, now: 0, vfs: vfs), keepsTables: true)
        if !FileManager.default.fileExists(atPath: run.destinationPath) {
            try FileManager.default.copyItem(atPath: store, toPath: run.destinationPath)
        }
        return run
    }

    static func complete(_ run: StepRun) throws -> (connection: Connection, report: StepReport) {
        let report = try run.run()
        var verification = Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 0)
        verification.told = ToldLoss.of(run.step.resolved, reported: nil)
        let differences = try verification.run().differences
        #expect(differences.isEmpty, "\(differences)")
        try run.finish()
        return (try Connection(path: run.destinationPath, mode: .readOnly), report)
    }
}
