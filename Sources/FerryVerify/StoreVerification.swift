package import FerryBase
internal import FerryMapping
package import FerryModel

/// Checks a store by itself, against the model it was written with.
///
/// What holds for every sound store: metadata and numbers of the model, keys, references, inverses, constraints,
/// derived values, index entries, external files, and SQLite's own check of the file. Unlike after a migration,
/// nothing is excused.
package struct StoreVerification: Sendable {
    package var version: ModelVersion
    package var path: String
    /// Whether the store is laid out as Core Data lays out a new one, so that its schema is checked too; one that was
    /// migrated in place has names of its own.
    package var isNew: Bool
    package var isThorough: Bool
    /// Whether the store cannot change, so that it is read without locks.
    package var isImmutable: Bool
    /// Where files with large values are; nil for beside the store.
    package var externalFolder: String?
    /// A folder for the lookup file; left empty again.
    package var workFolder: String
    /// How many parts are made at one time at most; nil for as many as there are processors.
    package var jobs: Int?
    package var trace: TraceHook?
    package var progress: ProgressHook?
    package var stop: StopRequest

    package init(
        version: ModelVersion, path: String, isNew: Bool, isThorough: Bool = false, isImmutable: Bool = false,
        workFolder: String, jobs: Int? = nil,
        trace: TraceHook? = nil, progress: ProgressHook? = nil, stop: StopRequest = StopRequest()
    ) {
        self.version = version
        self.path = path
        self.isNew = isNew
        self.isThorough = isThorough
        self.isImmutable = isImmutable
        self.workFolder = workFolder
        self.jobs = jobs
        self.trace = trace
        self.progress = progress
        self.stop = stop
    }

    /// - Throws: ``FerryError`` when checking itself fails; what is wrong is in the report.
    package func run() throws -> VerificationReport {
        // A step that maps nothing: what no mapping carried over has no excuse in a source.
        var verification = Verification(
            mode: .full,
            step: ResolvedStep(source: version, destination: version, mappingModels: [], entityMappings: []),
            sourcePath: path, isSourcePrivate: isImmutable, destinationPath: path, workFolder: workFolder,
            counts: nil, now: nil, trace: trace, progress: progress, stop: stop)
        verification.externalFolder = externalFolder
        verification.isThorough = isThorough
        verification.isDestinationAsFound = !isNew
        verification.isDestinationImmutable = isImmutable
        verification.isStoreAlone = true
        verification.jobs = jobs
        return try verification.run()
    }
}
