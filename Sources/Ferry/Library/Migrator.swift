public import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
public import Foundation

/// Migrates one store.
///
/// Models and mapping models are read once, when this is made; the store is opened by each call and not kept open.
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
    ///   - policies: The migration policies by the class names that the mapping models use; the module before a dot may
    ///     be left out. An instance is made for each entity mapping, and for each call that goes on with a run.
    /// - Throws: ``FerryError`` `.notFound`, `.badModel`, `.badMapping`, `.badExpression`, and `.unsupported` when the
    ///   linked SQLite is too old.
    public init(
        store: URL, models: [ModelSource], mappings: [MappingSource] = [], policies: [String: PolicyFactory] = [:]
    ) throws {
        try self.init(store: store, models: models, mappings: mappings, policies: policies, files: FileLayer())
    }

    package init(
        store: URL, models: [ModelSource], mappings: [MappingSource], policies: [String: PolicyFactory] = [:],
        files: FileLayer
    ) throws {
        try SQLiteCheck.require()
        self.store = store
        self.files = files
        inputs = try Inputs(models: models, mappings: mappings, policies: PolicyRegistry(policies), files: files)
        // Reading models brings in more of the program than a whole migration does.
        releaseUnusedMemory()
    }

    /// The same models, mapping models and policies for another store.
    ///
    /// What was found out of them for this one is known there, too.
    package func of(_ store: URL) -> Migrator {
        var migrator = self
        migrator.store = store
        return migrator
    }

    // MARK: Looking

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

    /// What ``migrate(_:stop:onEvent:)`` would do; what keeps it from running stands in the refusals.
    ///
    /// - Parameters:
    ///   - configuration: How the migration would run.
    ///   - checksRows: Whether the scans of preflight run too; without them large tables are estimated.
    /// - Returns: The plan.
    /// - Throws: ``FerryError`` when the store or its version cannot be made out at all.
    public func plan(_ configuration: Configuration = Configuration(), checksRows: Bool = false) throws -> PlanReport {
        try looking(configuration) { try $0.plan($1, checksRows: checksRows) }
    }

    /// Lends the store, and a run that looks at it and is not taken.
    func looking<Result>(
        _ configuration: Configuration, _ body: (MigrationRun, OpenedStore) throws -> Result
    ) throws -> Result {
        let run = try MigrationRun(
            store: store.filePath, inputs: inputs, configuration: configuration, stop: StopRequest(),
            relay: EventRelay { _ in }, files: files)
        return try reading(configuration.trace) { try body(run, $0) }
    }

    private func reading<Result>(_ trace: TraceHook? = nil, _ body: (OpenedStore) throws -> Result) throws -> Result {
        let path = try RunPlace.existing(store.filePath, files: files)
        return try OpenedStore.reading(path, files: files, trace: trace, body)
    }

    // MARK: Running

    /// Runs the migration on the calling thread; goes on with an unfinished run of the same plan.
    ///
    /// In a task call ``migrate(_:progress:onEvent:)``, which waits without holding a thread.
    ///
    /// - Parameters:
    ///   - configuration: How it runs.
    ///   - stop: Asks for a stop after the unit at work; the run then stays resumable.
    ///   - onEvent: Receives what happens, on the thread where it happens.
    /// - Returns: What was done, or that there was nothing to do.
    /// - Throws: ``FerryError``: every code of its `consequence` says what became of the store. The cause of a refusal is
    ///   ``PlanRefusals`` when there are several, that of `.verificationFailed` is ``VerificationDifferences``.
    public func migrate(
        _ configuration: Configuration = Configuration(), stop: StopRequest = StopRequest(),
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> MigrationReport {
        try MigrationRun(
            store: store.filePath, inputs: inputs, configuration: configuration, stop: stop, relay: EventRelay(onEvent),
            files: files.traced(by: configuration.trace)
        ).run()
    }
}

extension FileLayer {
    /// The same layer with the hook of one call.
    fileprivate func traced(by trace: TraceHook?) -> FileLayer { FileLayer(faults: faults, trace: trace ?? self.trace) }
}

extension Migrator {
    /// The statements that ``migrate(_:stop:onEvent:)`` would run, step by step; nothing is changed.
    ///
    /// They are those of the run itself: each step is taken on a store with this one's schema and without rows, in a
    /// temporary folder. No migration policy is called.
    ///
    /// - Parameter configuration: How the migration would run.
    /// - Returns: One list for each step; none where the store is of the target's version.
    /// - Throws: ``FerryError`` as ``plan(_:checksRows:)`` does, and the first refusal of a plan that cannot run.
    public func statements(_ configuration: Configuration = Configuration()) throws -> [PlannedStatements] {
        try looking(configuration) { try $0.statements($1) }
    }
}

/// Looks whether the linked SQLite has what Ferry needs.
enum SQLiteCheck {
    static func require() throws {
        do {
            let connection = try Connection(path: ":memory:", mode: .create)
            try probe("SELECT json('[]')", "JSON functions", connection)
            try probe("CREATE VIRTUAL TABLE temp.probe USING rtree(id, low, high)", "R-Trees", connection)
        } catch {
            throw FerryError.wrapping(error, on: "an empty database")
        }
    }

    private static func probe(_ sql: String, _ feature: String, _ connection: Connection) throws {
        do {
            try connection.execute(sql)
        } catch {
            throw FerryError(
                .unsupported, "The SQLite library that Ferry is linked with lacks \(feature).",
                remedy: "Install a current SQLite and build Ferry against it.", cause: error)
        }
    }
}
