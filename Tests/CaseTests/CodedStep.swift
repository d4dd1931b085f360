import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// A whole step between two models made in code, verified.
enum CodedStep {
    /// A step in code: entities map to those of the same name.
    static func run(
        _ store: String, _ source: ModelVersion, to model: ManagedObjectModel, dropping dropped: Set<String> = [],
        in folder: TemporaryFolder, chunkSize: EngineOptions.ChunkSize = .rows(7)
    ) throws -> (connection: Connection, report: StepReport) {
        let target = ModelVersion(of: model, name: "New")
        var mapping = MappingModel(
            name: "Step", path: "", sourceVersion: source.name, destinationVersion: target.name, entityMappings: [])
        for entity in source.model.sortedEntityNames where !dropped.contains(entity) {
            guard source.model.entities[entity]?.isAbstract == false, model.entities[entity] != nil else { continue }
            mapping.entityMappings.append(EntityMapping(name: entity, source: entity, destination: entity))
        }
        let plan = Planner(catalog: ModelCatalog(versions: [source, target]), mappingModels: [mapping])
            .plan(from: source, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        let step = plan.steps[0]
        let run = StepRun(
            step: step, sourcePath: store, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: chunkSize, now: 0))
        let report = try run.run()
        let verification = try Verification(
            mode: .full, step: step.resolved, sourcePath: store, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: folder.path, counts: report.counts, now: 0
        ).run()
        #expect(verification.differences.isEmpty, "\(verification.differences)")
        try run.finish()
        return (try Connection(path: run.destinationPath, mode: .readOnly), report)
    }
}
