import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// A copied step by the set executor over a test's store, with its trace and progress.
struct TracedStep {
    let run: StepRun
    let report: StepReport
    let statements: [String]
    /// The rows done after each chunk.
    let done: [Int64]

    /// Runs the step in a folder beside the store, and finishes it.
    ///
    /// - Parameters:
    ///   - store: The store of `source`, without known row counts.
    ///   - mapping: The text of a mapping file from "Model" to "Model 2".
    ///   - source: The old version's model.
    ///   - destination: The new version's model.
    ///   - chunk: The rows of a chunk.
    ///   - damage: The known damage of the store; nil lets the step check for itself.
    ///   - vfs: The VFS of all files.
    /// - Throws: The error of the mapping file, the plan or the run.
    init(
        _ store: StoreBuilder, _ mapping: String, from source: ManagedObjectModel, to destination: ManagedObjectModel,
        chunk: Int, damage: [StoreDamage]? = nil, vfs: VFS? = nil
    ) throws {
        let file = store.folder.file("Map.json")
        try FileLayer().replace(file, with: Array(mapping.utf8))
        let versions = [ModelVersion(of: source, name: "Model"), ModelVersion(of: destination, name: "Model 2")]
        let plan = Planner(
            catalog: ModelCatalog(versions: versions), mappingModels: [try MappingFile.load(path: file)], executor: .set
        ).plan(from: versions[0], to: versions[1], rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        let folder = store.folder.file("run")
        try FileLayer().createDirectory(folder)
        let trace = Locked<[String]>([])
        let progress = Locked<[Int64]>([])
        var options = EngineOptions(chunkSize: .rows(chunk), now: 0)
        options.sourceDamage = damage
        options.vfs = vfs
        options.trace = { event in trace.withLock { $0.append(event.text) } }
        options.progress = { update in
            if update.phase == .rows, update.done > 0 { progress.withLock { $0.append(update.done) } }
        }
        run = StepRun(
            step: try #require(plan.steps.first), sourcePath: store.path, isSourcePrivate: true, folder: folder,
            options: options)
        report = try run.run()
        try run.finish()
        statements = trace.withLock { $0 }
        done = progress.withLock { $0 }
    }
}
