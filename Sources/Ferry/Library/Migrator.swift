public import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
public import Foundation

/// Migrates one store.
///
/// The initializer reads the models and mapping models once; each call opens and closes the store.
public struct Migrator: Sendable {
    public private(set) var store: URL
    private let inputs: Inputs
    let files: FileLayer

    /// Reads the models and mapping models.
    ///
    /// - Parameters:
    ///   - store: The store's main file.
    ///   - models: The model versions.
    ///   - mappings: The mapping models.
    ///   - policies: The migration policies by the class names in the mapping models; the module before a dot may be
    ///     left out. Each call makes an instance for each entity mapping, also when it resumes a run.
    /// - Throws: ``FerryError`` `.notFound`, `.badModel`, `.badMapping`, `.badExpression`, and `.unsupported` when the
    ///   linked SQLite is too old.
    public init(
        store: URL, models: [ModelSource], mappings: [URL] = [], policies: [String: PolicyFactory] = [:]
    ) throws {
        try self.init(store: store, models: models, mappings: mappings, policies: policies, files: FileLayer())
    }

    package init(
        store: URL, models: [ModelSource], mappings: [URL], policies: [String: PolicyFactory] = [:],
        files: FileLayer
    ) throws {
        try SQLiteCheck.require()
        self.store = store
        self.files = files
        inputs = try Inputs(models: models, mappings: mappings, policies: PolicyRegistry(policies), files: files)
        // Reading models uses more memory than a whole migration.
        releaseUnusedMemory()
    }

    /// A migrator with these models, mapping models and policies for another store; shares the comparisons of routes.
    package func of(_ store: URL) -> Migrator {
        var migrator = self
        migrator.store = store
        return migrator
    }

    /// Finds the version of the store.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.notADatabase`, `.notACoreDataStore`, `.hotJournal`.
    public func identify() throws -> Identification {
        try reading { store in
            let catalog = inputs.catalog.fitted(to: store.metadata.hashes)
            let version = store.version(in: catalog)
            let nearest = version == nil ? catalog.nearest(to: store.metadata.hashes) : nil
            return Identification(
                store: URL(fileURLWithPath: store.path), uuid: store.metadata.uuid,
                version: version.map(catalog.displayName), model: version.map { URL(fileURLWithPath: $0.path) },
                nearest: nearest.map {
                    .init(version: catalog.displayName(of: $0.version), differs: $0.differs)
                }, frameworkVersion: store.metadata.frameworkVersion.map { Int(clamping: $0) })
        }
    }

    /// The plan of ``migrate(_:stop:onEvent:)``; its refusals say why it cannot run.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - checksRows: Whether preflight scans the rows too; otherwise the rows of large tables are estimated.
    /// - Returns: The plan.
    /// - Throws: ``FerryError`` when the store cannot be read or its version cannot be identified.
    public func plan(_ configuration: Configuration = Configuration(), checksRows: Bool = false) throws -> PlanReport {
        try withRun(configuration) { try $0.plan($1, checksRows: checksRows) }
    }

    /// Calls a body with the store, and with a run that only reads it.
    func withRun<Result>(
        _ configuration: Configuration, _ body: (MigrationRun, OpenedStore) throws -> Result
    ) throws -> Result {
        let run = try MigrationRun(
            store: store.filePath, inputs: inputs, configuration: configuration, stop: StopRequest(),
            relay: EventRelay { _ in }, files: files)
        return try reading(configuration.trace) { store in try WorkThread.withStack { try body(run, store) } }
    }

    private func reading<Result>(_ trace: TraceHook? = nil, _ body: (OpenedStore) throws -> Result) throws -> Result {
        try OpenedStore.reading(store.filePath, files: files, trace: trace, body)
    }

    /// Runs the migration on the calling thread; resumes an unfinished run of the same plan.
    ///
    /// In a task, call ``migrate(_:progress:onEvent:)`` instead, which does not block a thread.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the migration.
    ///   - stop: Requests a stop after the current unit; the run then stays resumable.
    ///   - onEvent: Receives every event, on the thread where it happens.
    /// - Returns: The report, also if there was nothing to do.
    /// - Throws: ``FerryError``: the `consequence` of its code says in which state the store is. The cause of several
    ///   refusals is ``PlanRefusals``, that of `.verificationFailed` is ``VerificationDifferences``.
    @discardableResult
    public func migrate(
        _ configuration: Configuration = Configuration(), stop: StopRequest = StopRequest(),
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> MigrationReport {
        let stop = StopRequest(following: stop, configuration.limits.budget)
        var wait = StoreWait(
            limit: configuration.limits.wait, store: store.filePath,
            result: (configuration.output ?? store).filePath, stop: stop
        ) { onEvent(.warning($0)) }
        // Each try measures its own phases: the record of the run has those before a wait.
        return try wait.repeating { try migrate(configuration, stop: stop, relay: EventRelay(onEvent)) }
    }

    private func migrate(
        _ configuration: Configuration, stop: StopRequest, relay: EventRelay
    ) throws -> MigrationReport {
        func run(withLeastMemory isFrugal: Bool) throws -> MigrationReport {
            let run = try MigrationRun(
                store: store.filePath, inputs: inputs, configuration: configuration, stop: stop, relay: relay,
                files: files.traced(by: configuration.trace), isFrugal: isFrugal)
            return try WorkThread.withStack { try run.run() }
        }
        do {
            return try run(withLeastMemory: false)
        } catch let error as FerryError where error.isOutOfSQLiteMemory {
            // A limit of SQLite's memory ended a unit of work, which is as before: caches were too large for it.
        }
        do {
            return try run(withLeastMemory: true)
        } catch let error as FerryError where error.isOutOfSQLiteMemory {
            var error = error
            error.remedy =
                "Even the smallest caches leave too little. Raise \(setting: .memoryLimit) and \(action: .again)."
            throw error
        }
    }
}

extension FerryError {
    fileprivate var isOutOfSQLiteMemory: Bool { (cause as? DatabaseError)?.isOutOfMemory == true }
}

extension FileLayer {
    /// This layer with the trace hook of one call.
    fileprivate func traced(by trace: TraceHook?) -> FileLayer { FileLayer(faults: faults, trace: trace ?? self.trace) }
}

extension Migrator {
    /// The statements that ``migrate(_:stop:onEvent:)`` would run, step by step; changes nothing.
    ///
    /// They are the program of each step, which the run takes too; no step runs, and no migration policy is called.
    ///
    /// - Parameter configuration: The settings of the migration.
    /// - Returns: One list for each step; empty if the store has the target version.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)-76jl`` does, and the first refusal of a plan that cannot run.
    public func statements(_ configuration: Configuration = Configuration()) throws -> [PlannedStatements] {
        try withRun(configuration) { try $0.statements($1) }
    }

    /// The properties that do not keep their name and entity through all versions of the migration.
    ///
    /// - Parameter configuration: The settings of the migration.
    /// - Returns: The properties by name; empty if the store has the target version.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)-76jl`` does.
    public func lineages(_ configuration: Configuration = Configuration()) throws -> [PropertyLineage] {
        try withRun(configuration) { try $0.planned($1, checksRows: false)?.plan.lineages ?? [] }
    }
}

/// Checks that the linked SQLite has the features that Ferry needs.
enum SQLiteCheck {
    static func require() throws {
        try FerryError.wrapping(on: "an empty database") {
            let connection = try Connection(path: ":memory:", mode: .create)
            for (list, name, feature) in [
                ("function_list", "json", "JSON functions"), ("module_list", "rtree", "R-Trees"),
            ] where try !connection.rows("PRAGMA \(list)").contains(where: { $0.first?.text == name }) {
                throw FerryError(
                    .unsupported, "The SQLite library that Ferry is linked with does not support \(feature).",
                    remedy: "Install a current SQLite and build Ferry against it.")
            }
        }
    }
}
