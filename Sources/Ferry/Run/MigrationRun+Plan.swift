internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// What the run would do; touches nothing.
    ///
    /// - Parameters:
    ///   - store: The store, opened for reading.
    ///   - checksRows: Whether rows are counted and scanned as the run itself would do first.
    /// - Returns: The plan; what keeps it from running stands in its refusals.
    /// - Throws: ``FerryError`` when there is nothing to plan from: an unknown version, a target that is not there.
    func plan(_ store: OpenedStore, checksRows: Bool) throws -> PlanReport {
        try WorkThread.withStack { try planHere(store, checksRows: checksRows) }
    }

    private func planHere(_ store: OpenedStore, checksRows: Bool) throws -> PlanReport {
        guard let planned = try storePlan(store, checksRows: checksRows) else {
            let target = try ends(of: store).target
            return PlanReport(store: Self.url(place.store), chain: [inputs.catalog.displayName(of: target)])
        }
        let (plan, inspection, layout, walk) = (planned.plan, planned.inspection, planned.layout, planned.walk)
        let rows = planned.rows
        let steps = try ScratchNeeds(
            plan: plan, configuration: configuration, store: store, layout: layout, rows: rows
        ).find()
        var report = try report(plan, steps, rows, store)
        report.insertRefusedSteps(of: plan)
        if store.sourceGuard.access != .readWrite {
            report.warnings.append(
                FerryWarning(
                    .notLocked, "\(place.store) cannot be written here: no lock keeps other programs out of it.",
                    about: .init(path: place.store)))
        }
        let statements = statements(of: plan, store)
        let preflight = Preflight(
            plan, store: store, layout: layout, rows: rows, statements: statements, configuration: configuration)
        report.longestUnit = LongestUnit(
            plan: plan, programs: steps.map(\.program), configuration: configuration, store: store,
            inspection: inspection,
            statements: statements
        ).find()
        guard var preflight else { return report }
        preflight.soundTables = inspection.soundTables
        preflight.walk = walk
        if checksRows {
            let (refusals, findings) = try preflight.check()
            report.refusals += refusals
            report.refusals += try self.refusals(
                beyondFirstStepOf: plan, store, layout, walk, scratch: report.steps.map(\.scratchBytes))
            report.warnings += findings.warnings
            report.losses += findings.losses ?? []
        } else {
            report.refusals += try preflight.appObjects.refusals()
        }
        return report
    }

    /// A plan, and what was seen of the store for it.
    struct StorePlan {
        var plan: MigrationPlan
        var inspection: StoreInspection
        var layout: StoreLayout
        /// Nil where no rows were scanned.
        var walk: PageWalk?
        /// By entity.
        var rows: [String: Int64]
    }

    /// Plans from what the store holds; nil where it is of the target's version.
    func storePlan(_ store: OpenedStore, checksRows: Bool) throws -> StorePlan? {
        try fitInputs(to: store)
        let (version, target) = try ends(of: store)
        guard version.hashes != target.hashes else { return nil }
        let inspection: StoreInspection
        let layout: StoreLayout
        var walk: PageWalk?
        do {
            (inspection, layout) = try store.inspect(version, counting: checksRows ? .exact : .estimated) { layout in
                if checksRows { walk = try PageWalk(of: layout, on: store.sourceGuard.connection, stop: stop) }
                return walk
            }
        } catch {
            throw FerryError.beforeRun(error, on: place.store)
        }
        let rows = Dictionary(inspection.entities.map { ($0.entity, $0.rows) }, uniquingKeysWith: +)
        let plan = try makePlan(
            from: version, to: target, store, layout, rows: rows,
            areRowsEstimated: inspection.entities.contains(where: \.isEstimated), countsAll: checksRows, walk: walk)
        return StorePlan(plan: plan, inspection: inspection, layout: layout, walk: walk, rows: rows)
    }

    /// Plans, looks up in the rows what the way depends on, and counts what is lost.
    func makePlan(
        from version: ModelVersion, to target: ModelVersion, _ store: OpenedStore, _ layout: StoreLayout,
        rows: [String: Int64], areRowsEstimated: Bool, countsLosses: Bool = true, countsAll: Bool = false,
        walk: PageWalk? = nil
    ) throws -> MigrationPlan {
        var planner = planner
        planner.endsAtQuestions = true
        planner.comparisons = inputs.comparisons.find(from: version, to: target, named: configuration.target)
        let counter = LossCounter(connection: store.sourceGuard.connection, layout: layout, rows: rows, walk: walk)
        var plan = planner.plan(from: version, to: target, rows: rows, areRowsEstimated: areRowsEstimated)
        inputs.comparisons.keep(plan.comparisons, from: version, to: target, named: configuration.target)
        if !plan.questions.isEmpty {
            planner.endsAtQuestions = false
            planner.comparisons = plan.comparisons
            planner.values = try counter.presence(of: plan.questions)
            plan = planner.plan(from: version, to: target, rows: rows, areRowsEstimated: areRowsEstimated)
        }
        plan.isStaged = configuration.hasStages
        if countsLosses { plan.losses = try counter.counted(plan.losses, all: countsAll) }
        if let refusal = configuration.refusal(of: plan.losses) { plan.refusals.append(refusal) }
        // What cannot be reached needs no names.
        if !plan.steps.isEmpty { plan.refusals += nameRefusals }
        return plan
    }

    /// What a plan loses of what the rows hold.
    func losses(
        of plan: MigrationPlan, _ store: OpenedStore, _ layout: StoreLayout, rows: [String: Int64]
    ) throws -> [ChainLoss] {
        try LossCounter(connection: store.sourceGuard.connection, layout: layout, rows: rows)
            .counted(plan.losses, all: false)
    }

    /// Takes the models and mapping models as the store sees them.
    func fitInputs(to store: OpenedStore) throws {
        if !configuration.passesOverMappings { inputs = try inputs.lookingBeside(files: files) }
        inputs = try inputs.fitted(to: store.metadata.hashes, target: configuration.target)
    }

    /// The store's version and the one that the migration leads to.
    func ends(of store: OpenedStore) throws -> (ModelVersion, target: ModelVersion) {
        guard store.version(in: inputs.catalog) != nil else { throw store.unknownVersion(in: inputs.catalog) }
        let target = try inputs.target(configuration, for: store.metadata.hashes)
        guard let version = store.version(in: inputs.catalog, preferring: target) else {
            throw store.unknownVersion(in: inputs.catalog)
        }
        guard version.hashes != target.hashes else { return (version, target) }
        return (version, try settleNames(of: target, from: version, store))
    }

    var planner: Planner {
        let executor: ExecutorChoice =
            switch configuration.executor {
            case .automatic: .auto
            case .row: .row
            case .set: .set
            }
        var planner = Planner(
            catalog: inputs.catalog, mappingModels: inputs.mappingModels, policies: inputs.policies.known,
            executor: executor, composes: configuration.composes && !configuration.hasStages)
        planner.route = configuration.route
        planner.mappingModelsBeside = inputs.mappingModelsBeside
        planner.inputWarnings = inputs.warnings
        // The executor may be another one from call to call; what a step is, may not.
        if let copiesInferred { planner.copiesInferred = copiesInferred }
        return planner
    }

    /// The plan in the words of the library, with what the façade adds.
    func report(
        _ plan: MigrationPlan, _ steps: [ScratchNeeds.Step], _ rows: [String: Int64], _ store: OpenedStore
    ) throws -> PlanReport {
        var report = PlanReport(plan, store: place.store, rows: rows.values.reduce(0, +))
        for index in report.steps.indices { report.steps[index].scratchBytes = steps[index].peak }
        report.peakDiskBytes = try diskNeed(plan, store, scratch: steps.map(\.peak)).bytesByFolder
        return report
    }

    /// What stands in the way of later steps, and what the disk has no room for.
    func refusals(
        beyondFirstStepOf plan: MigrationPlan, _ store: OpenedStore, _ layout: StoreLayout, _ walk: PageWalk?,
        scratch: [Int64]
    ) throws -> [FerryError] {
        try LaterStepsPreflight(
            plan: plan, layout: layout, connection: store.sourceGuard.connection,
            dropping: Set(configuration.dropUnknown), walk: walk
        ).refusals() + diskNeed(plan, store, scratch: scratch).refusals()
    }

    func diskNeed(_ plan: MigrationPlan, _ store: OpenedStore, scratch: [Int64], stores: Int = 2) throws -> DiskNeed {
        try DiskNeed(
            contentBytes: store.contentBytes(), stores: stores, scratch: scratch,
            swapsStore: place.output == nil && !plan.isInPlace, runFolder: FileLayer.parent(of: place.result),
            snapshotFolder: takesSnapshot ? snapshotFolder : nil, files: files)
    }
}

extension PlanReport {
    /// The plan in the words of the library.
    init(_ plan: MigrationPlan, store: String, rows: Int64) {
        self.init(store: URL(fileURLWithPath: store), chain: plan.chain)
        self.rows = rows
        refusals = plan.refusals
        warnings = plan.allWarnings
        links = plan.explanation.edges.map {
            Link(from: $0.from, to: $0.to, isInferred: $0.isInferred, reason: $0.reason)
        }
        notes = plan.explanation.notes
        losses = plan.losses.map(Loss.init)
        for step in plan.steps {
            steps.append(
                Step(
                    from: step.versions.first ?? step.resolved.source.name,
                    to: step.versions.last ?? step.resolved.destination.name, versions: step.versions,
                    isApartBecause: step.isApartBecause, mode: Self.mode(step.mode),
                    reason: Self.reason(step, in: plan), mappingModels: step.mappingModelNames,
                    partitions: step.partitions.map { $0.entityMappings.map(Self.words) }))
        }
    }

    /// Puts the steps that cannot be taken in their places, so that each step keeps its number.
    mutating func insertRefusedSteps(of plan: MigrationPlan) {
        for index in plan.refusedSteps.sorted() where index <= steps.count && index + 1 < chain.count {
            let versions = Array(chain[index...index + 1])
            steps.insert(
                Step(
                    from: versions[0], to: versions[1], versions: versions, isApartBecause: nil, mode: .refused,
                    reason: "it cannot be taken, for the reasons below", mappingModels: [], partitions: []), at: index)
        }
    }

    private static func mode(_ mode: StepPlan.Mode) -> Step.Mode {
        switch mode {
        case .none: .nothing
        case .copy: .copy
        case .inPlace: .inPlace
        }
    }

    private static func reason(_ step: StepPlan, in plan: MigrationPlan) -> String {
        switch step.mode {
        case .none: "nothing is to be done"
        case .copy:
            step.needsCopyBecause
                ?? (step.mappingModelNames.count == 1
                    ? "its mapping model makes objects anew" : "its mapping models make objects anew")
        case .inPlace:
            plan.isInPlace
                ? "it is inferred, and every object keeps its row"
                : plan.isStaged
                    ? "it is inferred, and every object keeps its row; a hook is to see its result, so it runs in the run folder"
                    : "it is inferred, and every object keeps its row; another step needs a copy, so it runs in the run folder"
        }
    }

    private static func words(_ plan: FerryPlan.EntityMappingPlan) -> EntityMappingPlan {
        EntityMappingPlan(
            name: plan.mapping.name, source: plan.mapping.source, destination: plan.mapping.destination,
            executor: RowExecutor(rawValue: plan.executor.rawValue), reason: plan.reason,
            rows: plan.isKnown ? plan.rows : nil,
            isEstimated: plan.isEstimated)
    }
}

extension MigrationRun {
    /// The statements of each step, found by taking the plan through a store without rows.
    ///
    /// - Throws: ``FerryError`` when the plan cannot run.
    func statements(_ store: OpenedStore) throws -> [PlannedStatements] {
        try WorkThread.withStack { try statementsHere(store) }
    }

    private func statementsHere(_ store: OpenedStore) throws -> [PlannedStatements] {
        guard let plan = try storePlan(store, checksRows: false)?.plan else { return [] }
        if let first = plan.refusals.first { throw first }
        return try files.withWorkFolder(named: "ferry-plan", in: FileManager.default.temporaryDirectory.filePath) {
            folder in
            var path = folder + "/store.sqlite"
            do {
                try StepStatements.makeEmptyStore(like: store.sourceGuard.connection, at: path)
            } catch let error as DatabaseError {
                throw FerryError(
                    .unsupported,
                    "The schema of \(place.store) cannot be made here, so its statements cannot be listed: "
                        + error.message,
                    remedy: "Migrate where the app's own modules and collations are at hand.", cause: error)
            }
            return try plan.steps.enumerated().map { index, step in
                let stepFolder = "\(folder)/step-\(index + 1)"
                try files.createDirectory(stepFolder, mode: 0o700)
                let (statements, next) = try StepStatements.of(
                    step, from: path, in: stepFolder, dropping: index == 0 ? Set(configuration.dropUnknown) : [])
                path = next
                return PlannedStatements(statements, of: step, number: index + 1)
            }
        }
    }
}

extension PlannedStatements {
    fileprivate init(_ found: StepStatements, of step: StepPlan, number: Int) {
        self.init(
            step: number, from: step.resolved.source.name, to: step.resolved.destination.name,
            isInPlace: step.mode == .inPlace,
            groups: found.groups.map { group in
                Group(
                    phase: group.phase, reason: group.reason,
                    statements: group.statements.map { statement in
                        Statement(
                            sql: statement.sql,
                            parameters: statement.values.map { .init(name: $0.name, value: $0.value.literal) })
                    })
            })
    }
}
