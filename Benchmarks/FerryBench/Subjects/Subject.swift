internal import Ferry
internal import FerryBase
internal import FerryEngine
internal import FerryGenerate
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// A migration's input: two model versions, the mapping from one to the other, and the values of the old store.
struct Subject: Sendable {
    /// The text of each version's `contents`.
    var old: String
    var new: String
    /// The text of the mapping file; nil for an inferred mapping.
    var mapping: String?
    /// The generation options of the store for a number of rows.
    var options: @Sendable (_ rows: Int) -> GenerationOptions

    /// Writes the models, the mapping file and the store into a folder.
    func write(rows: Int, to folder: String) throws {
        try writeSources(to: folder)
        let files = FileLayer()
        let version = try Self.catalog(folder).version(named: "Version1")
        try StoreGenerator(version, options: options(rows)).generate(at: Self.store(folder), files: files)
        // Pending writes would slow down the side that runs first.
        try files.syncFile(Self.store(folder))
    }

    /// Writes only the models and the mapping file, for a subject that shares the old version and the store of another
    /// one.
    func writeSources(to folder: String) throws {
        let files = FileLayer()
        for (path, text) in [(Self.old(folder), old), (Self.new(folder), new)] {
            try files.createDirectory(path)
            try files.replace("\(path)/contents", with: Array(text.utf8))
        }
        if let mapping { try files.replace(Self.mapping(folder), with: Array(mapping.utf8)) }
    }

    // MARK: Written files

    static func store(_ folder: String) -> String { "\(folder)/Store.sqlite" }
    static func mapping(_ folder: String) -> String { "\(folder)/mapping.json" }
    static func old(_ folder: String) -> String { "\(folder)/Version1.xcdatamodel" }
    /// The folder has two separate models, and neither is marked as the current version.
    static let target = "Version2"
    static func new(_ folder: String) -> String { "\(folder)/Version2.xcdatamodel" }

    static func catalog(_ folder: String) throws -> ModelCatalog {
        try ModelCatalog(paths: [old(folder), new(folder)])
    }

    /// Runs the engine alone, for the budgets of an executor.
    static func stepRun(
        _ folder: String, work: String, chunkSize: ChunkSize, executor: ExecutorChoice = .automatic,
        policy: PolicyFactory? = nil, trace: TraceHook?
    ) throws -> StepRun {
        let catalog = try catalog(folder)
        var mapping = try MappingFile.load(path: mapping(folder))
        let policies = PolicyRegistry(policy.map { ["Policy": $0] } ?? [:])
        if policy != nil {
            for index in mapping.entityMappings.indices { mapping.entityMappings[index].policyClassName = "Policy" }
        }
        let planner = Planner(
            catalog: catalog, mappingModels: [mapping], policies: policies.known, executor: executor)
        let source = try catalog.version(named: "Version1")
        // A run counts them, too, before its first chunk.
        let connection = try Connection(path: store(folder), mode: .readOnly)
        let layout = try StoreLayout.actual(for: source.model, on: connection)
        let counts = try StoreInspection(of: layout, on: connection).entities.map { ($0.name, $0.rows ?? 0) }
        let plan = try planner.plan(
            from: source, to: catalog.version(named: "Version2"), rows: Dictionary(uniqueKeysWithValues: counts),
            areRowsEstimated: false)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: store(folder), isSourcePrivate: true, folder: work,
            options: EngineOptions(chunkSize: chunkSize, now: 0, trace: trace), policies: policies)
    }

    /// Returns the whole program without its command line.
    ///
    /// - Parameters:
    ///   - folder: The folder that ``write(rows:to:)`` filled.
    ///   - store: The store to migrate; nil means the folder's store.
    /// - Returns: The migrator.
    /// - Throws: ``FerryError`` when the models or the mapping file cannot be read.
    static func migrator(_ folder: String, store: String? = nil) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store ?? Self.store(folder)), models: models(folder),
            mappings: mappings(folder))
    }

    /// Returns the verifier for a store that was migrated from the folder's store.
    static func verifier(_ folder: String, of migrated: String) throws -> Verifier {
        try Verifier(store: URL(fileURLWithPath: migrated), models: models(folder), mappings: mappings(folder))
    }

    private static func models(_ folder: String) -> [ModelSource] {
        [old(folder), new(folder)].map { .url(URL(fileURLWithPath: $0)) }
    }

    private static func mappings(_ folder: String) throws -> [URL] {
        try FileLayer().exists(mapping(folder)) ? [URL(fileURLWithPath: mapping(folder))] : []
    }

    /// Copies the store into the work folder, for a migration in place.
    static func copyStore(_ folder: String, work: String) throws -> String {
        let copy = "\(work)/Store.sqlite"
        let files = FileLayer()
        // A subject without a store of its own has its models in a folder beside a store.
        let own = store(folder)
        _ = try files.copy(try files.exists(own) ? own : store(FileLayer.parent(of: folder)), to: copy)
        try files.syncFile(copy)
        return copy
    }
}
