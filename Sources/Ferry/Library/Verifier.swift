public import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify
public import Foundation

/// Checks a store alone, or against the store from which it was migrated; changes neither.
public struct Verifier: Sendable {
    /// The scope of a verification.
    public struct Options: Sendable, Hashable {
        /// Whether SQLite compares every index with its table (`integrity_check`), which takes much longer.
        public var checksIntegrity: Bool
        /// The share of a migrated store's rows that is compared value by value; all rows are counted.
        public var sample: Double

        /// The number of parts that run at one time; nil for as many as there are processors.
        public var jobs: Int?

        public init(checksIntegrity: Bool = false, sample: Double = 1, jobs: Int? = nil) {
            self.checksIntegrity = checksIntegrity
            self.sample = sample
            self.jobs = jobs
        }
    }

    public let store: URL
    private let inputs: Inputs
    private let files: FileLayer

    /// Reads the models and mapping models.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.badModel`, `.badMapping`; `.unsupported`: the linked SQLite is too old.
    public init(store: URL, models: [ModelSource], mappings: [URL] = []) throws {
        try SQLiteCheck.require()
        self.store = store
        files = FileLayer()
        inputs = try Inputs(models: models, mappings: mappings, files: files)
    }

    /// Checks the rules for every intact store of its model: metadata, numbers, keys, references, inverses, mandatory
    /// and unique values, derived values, index entries, external files; and the contents of external files that the
    /// newest snapshot in `STORE.snapshots` has too.
    ///
    /// - Parameters:
    ///   - options: The scope of the verification.
    ///   - stop: Requests a stop.
    ///   - onProgress: Receives the progress.
    /// - Returns: The differences; without models, Ferry uses the model cached in the store.
    /// - Throws: ``FerryError`` when the store or its version cannot be identified, or its tables are missing.
    public func verifyStore(
        _ options: Options = Options(), stop: StopRequest = StopRequest(), onProgress: ProgressHook? = nil
    ) throws -> VerificationSummary {
        try withStore(store) { opened in
            let version = try version(of: opened, in: inputs.catalog)
            var summary = try withWorkFolder { folder in
                var verification = Verification(
                    ofStore: version, at: opened.path, isNew: false,
                    isImmutable: opened.sourceGuard.access == .unlocked, workFolder: folder)
                verification.fileCheck = options.checksIntegrity ? .integrity : .quick
                (verification.jobs, verification.progress, verification.stop) = (options.jobs, onProgress, stop)
                return try verification.run()
            }
            summary.added = try objects(besideModelOf: version, in: opened)
            let snapshots = StoreSnapshots(of: opened.path, folder: nil, files: files)
            if let changed = try snapshots.changedExternalFiles(stop: stop) {
                summary.differences.append(
                    .init(check: .externalContents, entity: nil, count: changed.count, example: changed.example))
            }
            return summary
        }
    }

    /// Checks the store against the one from which it was migrated, as a migration does before it ends.
    ///
    /// - Parameters:
    ///   - source: The store before the migration: a copy, or a restored snapshot.
    ///   - options: The scope of the verification.
    ///   - stop: Requests a stop.
    ///   - onProgress: Receives the progress.
    /// - Returns: The differences.
    /// - Throws: ``FerryError`` `.unsupported` for a migration of several steps or with a policy; errors of planning.
    public func verifyMigration(
        from source: URL, _ options: Options = Options(), stop: StopRequest = StopRequest(),
        onProgress: ProgressHook? = nil
    ) throws -> VerificationSummary {
        try withStore(source) { old in
            try withStore(store) { new in
                let hashes = new.metadata.hashes
                let run = try RunLog(beside: new.path, files: files).migration(to: hashes)
                let (step, losses) = try step(from: old, to: new, run)
                let told = try reported(losses, of: step, in: old, now: run?.now)
                return try withWorkFolder { folder in
                    var verification = Verification(
                        mode: .full, step: step.resolved, sourcePath: old.path,
                        isSourcePrivate: old.sourceGuard.access == .unlocked, destinationPath: new.path,
                        workFolder: folder, counts: nil, now: run?.now,
                        externalFolder: ExternalData.folder(forStore: old.path), progress: onProgress, stop: stop)
                    verification.told = told
                    // A store of Ferry must meet the requirements of a run; one of Core Data may have names of its own.
                    verification.subject = .found(
                        .init(
                            isInPlace: run?.isInPlace ?? false,
                            keptRoots: run?.copying == nil ? [] : step.keptPart?.roots ?? [],
                            hasNamesOfRun: try run?.isInPlace != nil && run?.isLike != true
                                && hasNamesOfNew(new, step.resolved, old),
                            hasIndexesOfTemplate: run?.isLike == true))
                    verification.isDestinationImmutable = new.sourceGuard.access == .unlocked
                    verification.fileCheck = options.checksIntegrity ? .integrity : .quick
                    verification.jobs = options.jobs
                    verification.sampledPerMille = Int64((max(0, min(1, options.sample)) * 1_000).rounded(.up))
                    var summary = try verification.run()
                    let before = Set(try objects(besideModelOf: step.resolved.source, in: old))
                    summary.added = try objects(besideModelOf: step.resolved.destination, in: new)
                        .filter { !before.contains($0) }
                    return summary
                }
            }
        }
    }

    /// What a migration of the old store says it loses, counted in that store.
    private func reported(
        _ losses: [ChainLoss], of step: StepPlan, in old: OpenedStore, now: Double?
    ) throws -> [ToldLoss] {
        guard step.resolved.middle.isEmpty else { return ToldLoss.of(step.resolved, reported: nil) }
        let connection = old.sourceGuard.connection
        let counter = LossCounter(
            of: try StoreLayout.actual(for: step.resolved.source.model, on: connection), on: connection,
            now: now ?? Date.now.timeIntervalSinceReferenceDate)
        let told = losses.filter { !$0.isOfOrder }
        return try ToldLoss.of(step.resolved, reported: counter.counted(told).map { ToldLoss($0) })
            + ToldLoss.ofInvalidValues(in: step.resolved)
    }

    /// Whether the tables of a migrated store have the names that a new store has.
    private func hasNamesOfNew(_ new: OpenedStore, _ step: ResolvedStep, _ old: OpenedStore) throws -> Bool {
        let source = try StoreLayout.actual(for: step.source.model, on: old.sourceGuard.connection)
        let model = step.destination.model
        guard StoreLayout.refusals(for: model, foundTriggers: .of(source)).isEmpty else { return false }
        let canonical = try StoreLayout.canonical(for: model, foundTriggers: .of(source))
        let found = Set(try StoreCatalog(new.sourceGuard.connection).tables.map(\.name))
        return found.isSuperset(of: canonical.tables.values.map(\.name) + canonical.joinTables.map(\.name))
    }

    // MARK: Objects of the app

    /// The objects of a store's schema that its model does not explain, with their types.
    private func objects(besideModelOf version: ModelVersion, in store: OpenedStore) throws -> [String] {
        let connection = store.sourceGuard.connection
        let catalog = try StoreCatalog(connection)
        let layout = try StoreLayout.actual(for: version.model, on: connection)
        let unknown = StoreObjects(catalog, layout: layout).unknownObjects
        let types = Dictionary(first: catalog.others.map { ($0.name, $0.type) })
        let tables = Set((layout.tables.values.map(\.name) + layout.joinTables.map(\.name)).map { $0.uppercased() })
        // The names of Core Data's own begin with the table's, or with Z_.
        let indexes = catalog.indexes.filter {
            tables.contains($0.table.uppercased()) && !$0.name.uppercased().hasPrefix("Z")
        }
        return unknown.map { "\(types[$0] ?? "table") \($0)" } + indexes.map { "index \($0.name)" }
    }

    // MARK: Stores

    private func version(of store: OpenedStore, in catalog: ModelCatalog) throws -> ModelVersion {
        if let version = store.version(in: catalog.fitted(to: store.metadata.hashes)) { return version }
        if catalog.versions.isEmpty,
            let cached = try ModelCache.version(in: store.sourceGuard.connection),
            cached.hashes == store.metadata.hashes
        {
            return cached
        }
        guard catalog.versions.isEmpty else { throw try store.unknownVersion(in: catalog) }
        throw FerryError(
            .unknownVersion, "The store \(store.path) contains no cached model of its own version.",
            remedy: "Give the model with \(setting: .models).")
    }

    private func step(
        from old: OpenedStore, to new: OpenedStore, _ run: RunLog.Entry?
    ) throws -> (step: StepPlan, losses: [ChainLoss]) {
        var inputs = inputs
        try inputs.takeOwnModel(of: new)
        try inputs.takeOwnModel(of: old)
        inputs.catalog = inputs.catalog.fitted(to: old.metadata.hashes)
        // Of several versions with the same hashes that to which the migration led.
        let named = inputs.catalog.versions(matching: new.metadata.hashes).first {
            inputs.catalog.displayName(of: $0) == run?.chain.last
        }
        let target = try named ?? version(of: new, in: inputs.catalog)
        guard var version = old.version(in: inputs.catalog, preferring: target) else {
            throw try old.unknownVersion(in: inputs.catalog)
        }
        if run?.adopts == true {
            version = try Adoption(of: version, into: target, on: old.sourceGuard.connection).version
        }
        guard version.hashes != target.hashes else {
            throw FerryError(
                .unsupported, "\(old.path) and \(new.path) have the same version: there was no migration between them.",
                remedy: "Verify the store by itself, without \(setting: .source).")
        }
        try checkMappingModels(of: run)
        var planner = Planner(catalog: inputs.catalog, mappingModels: inputs.mappingModels)
        let (from, to) = (inputs.catalog.displayName(of: version), inputs.catalog.displayName(of: target))
        if let copying = run?.copying { planner.copying = copying }
        if let chain = run?.chain, chain.first == from, chain.last == to {
            // The chain of the run, which may depend on rows or options.
            planner.route = ChainRoute(choice: .versions(chain), origin: "the log of the migration")
            planner.route.allowsDowngrade = true
        }
        let plan = planner.plan(from: version, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first(where: { $0.code == .missingPolicy }) {
            throw FerryError(
                .unsupported,
                "A migration policy created objects of \(new.path) from \(old.path), and only its code knows which.",
                remedy: """
                    Verify the store by itself, without \(setting: .source). The migration itself \
                    verifies what a policy leaves to the mapping.
                    """, place: refusal.place)
        }
        if plan.refusals.contains(where: { $0.code == .backward }) {
            throw FerryError(
                .unsupported,
                "\(new.path) has version \(to), which is older than version \(from) of \(old.path): the two stores are "
                    + "swapped, or it was migrated back and the log of that is missing.",
                remedy: "Verify \(old.path), with \(new.path) as \(setting: .source); or verify the store by itself.")
        }
        if plan.steps.isEmpty, let refusal = plan.refusals.first { throw refusal }
        guard plan.steps.count == 1 else {
            throw FerryError(
                .unsupported,
                "From \(old.path) to \(new.path) there are \(plan.steps.count) steps (\(plan.chain.joined(separator: " → "))), "
                    + "and only adjacent versions can be compared.",
                remedy: "Migrate step by step with \(setting: .output), and verify each; or verify the store by itself."
            )
        }
        return (plan.steps[0], plan.losses)
    }

    /// - Throws: ``FerryError`` `.mappingsNotGiven` when the migration used mapping models that are not given.
    private func checkMappingModels(of run: RunLog.Entry?) throws(FerryError) {
        let given = Set(inputs.mappingModels.map(\.fingerprint.hexadecimal))
        let missing = (run?.mappingModels ?? [:]).filter { !given.contains($0.value) }.keys.sorted()
        guard !missing.isEmpty else { return }
        throw FerryError(
            .mappingsNotGiven,
            "The migration used mapping models that were not given or have changed: "
                + "\(missing.joined(separator: ", ")).",
            remedy: "Pass them with \(setting: .mappings) as they were then.")
    }

    private func withStore<Result>(_ url: URL, _ body: (OpenedStore) throws -> Result) throws -> Result {
        try OpenedStore.reading(url.filePath, files: files) { opened in
            let before = try opened.sourceGuard.fingerprint()
            let result = try body(opened)
            // Several connections read, each from the state that it finds.
            if case .storeChanged(let change) = before.compare(with: try opened.sourceGuard.fingerprint()) {
                let error = FerryError(
                    .sourceChanged, "\(opened.path) was modified during verification: \(change).",
                    remedy: "Close the programs that use it, and \(action: .again).")
                throw FerryError.namingRun(error, on: opened.path, files: files)
            }
            return result
        }
    }

    /// Lends a folder for lookups, which are about as large as the store's keys, and hold values; deletes it.
    private func withWorkFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        // The memory of the models and the plan counts beside the caches of the verification.
        releaseUnusedMemory()
        let place = FileManager.default.temporaryDirectory.filePath
        return try files.withWorkFolder(named: "ferry-verify", in: place, body)
    }
}
