internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A plan with what was found out about the store for it.
struct Planned {
    var plan: MigrationPlan
    let inspection: StoreInspection
    let layout: StoreLayout
    /// Rows of exactly each entity; estimated for a plan that writes none.
    let rows: [String: Int64]
    /// Of the first step where it is one in place; nil for a plan without steps.
    let statements: StatementsInPlace?
    /// What was found on the way over the store's pages, where they were walked over.
    let walk: PageWalk?
    /// Whether the run writes rows; where it does not, what is wrong with them is no concern of it.
    var writesRows = true
    /// What the steps take beside their new stores, and what they have to do; none until it is estimated.
    var steps: [StepEstimates.Step] = []
}

extension MigrationRun {
    /// A store whose pages are looked at in no time, so that there is no reason not to.
    static let smallStoreBytes: Int64 = 16 << 20

    /// The plan, made of counted rows unless none of them matters.
    ///
    /// A step in place that writes no row (a renaming, a new attribute without default) takes as long on two million
    /// rows as on none; counting them would take longer than all the rest. `counted` are rows that an earlier call has
    /// counted, and past the snapshot nothing that follows needs to know them.
    func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, isPastSnapshot: Bool,
        counted: [String: Int64]?, in folder: RunFolder?
    ) throws -> Planned {
        if let counted {
            return try planned(
                store, from: version, to: target, .estimated, areRowsEstimated: false, counted: counted)
        }
        let asksForRows = isPastSnapshot || takesSnapshot || place.output != nil || configuration.damaged != .refuse
        if !asksForRows, try store.contentBytes() > Self.smallStoreBytes {
            var planned = try planned(
                store, from: version, to: target, .estimated, areRowsEstimated: true, countsLosses: false)
            if try writesNoRow(planned) {
                planned.writesRows = false
                planned.plan.losses = try LossCounter(
                    connection: store.sourceGuard.connection, layout: planned.layout, rows: planned.rows
                ).counted(planned.plan.losses, all: false)
                return planned
            }
        }
        guard !isPastSnapshot else {
            return try planned(store, from: version, to: target, .estimated, areRowsEstimated: true)
        }
        // The pages are checked before anything else, so what is to be counted is counted on the way.
        return try planned(store, from: version, to: target, .exact) { try walkPages(of: store, $0, folder) }
    }

    /// The plan, made by looking at the store alone; nil where that is of the target's version.
    func planned(_ store: OpenedStore, checksRows: Bool) throws -> Planned? {
        try fitInputs(to: store)
        let (version, target) = try ends(of: store)
        guard version.hashes != target.hashes else { return nil }
        do {
            return try planned(
                store, from: version, to: target, checksRows ? .exact : .estimated, countsAllLosses: checksRows
            ) { try checksRows ? PageWalk(of: $0, on: store.sourceGuard.connection, stop: stop) : nil }
        } catch {
            throw FerryError.beforeRun(error, on: place.store)
        }
    }

    private func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, _ counting: StoreInspection.Counting,
        areRowsEstimated: Bool? = nil, counted: [String: Int64]? = nil, countsLosses: Bool = true,
        countsAllLosses: Bool = false, walkingBy makeWalk: (StoreLayout) throws -> PageWalk? = { _ in nil }
    ) throws -> Planned {
        var walk: PageWalk?
        let (inspection, layout) = try store.inspect(version, counting: counting) { layout in
            walk = try makeWalk(layout)
            return walk
        }
        let rows = counted ?? inspection.rowsOfEntities
        let areRowsEstimated = areRowsEstimated ?? inspection.entities.contains(where: \.isEstimated)
        let counter = LossCounter(connection: store.sourceGuard.connection, layout: layout, rows: rows, walk: walk)
        var plan = try plan(from: version, to: target, rows, areRowsEstimated: areRowsEstimated, counter)
        if countsLosses { plan.losses = try counter.counted(plan.losses, all: countsAllLosses) }
        if let refusal = configuration.refusal(of: plan.losses) { plan.refusals.append(refusal) }
        // What cannot be reached needs no names.
        if !plan.steps.isEmpty { plan.refusals += nameRefusals }
        let statements = plan.steps.first.map { step in
            StatementsInPlace(step, dropping: configuration.dropping) { store.sourceGuard.connection }
        }
        return Planned(
            plan: plan, inspection: inspection, layout: layout, rows: rows, statements: statements, walk: walk)
    }

    /// Plans, and looks up in the rows what the way depends on.
    private func plan(
        from version: ModelVersion, to target: ModelVersion, _ rows: [String: Int64], areRowsEstimated: Bool,
        _ counter: LossCounter
    ) throws -> MigrationPlan {
        var planner = planner
        planner.endsAtQuestions = true
        let ends = RouteEnds(source: version.hashes, target: target.hashes, name: configuration.target)
        planner.comparisons = inputs.comparisons.withLock { $0[ends] ?? [] }
        var plan = planner.plan(from: version, to: target, rows: rows, areRowsEstimated: areRowsEstimated)
        let comparisons = plan.comparisons
        if !comparisons.isEmpty { inputs.comparisons.withLock { $0[ends] = comparisons } }
        if !plan.questions.isEmpty {
            planner.endsAtQuestions = false
            planner.comparisons = plan.comparisons
            planner.values = try counter.presence(of: plan.questions)
            plan = planner.plan(from: version, to: target, rows: rows, areRowsEstimated: areRowsEstimated)
        }
        plan.isStaged = configuration.hasStages
        return plan
    }

    /// Whether a plan is one step in place that writes no row and requires nothing of any.
    private func writesNoRow(_ planned: Planned) throws -> Bool {
        let plan = planned.plan
        guard plan.refusals.isEmpty, plan.isInPlace, plan.steps.count == 1, let statements = planned.statements,
            let step = plan.steps.first, step.needsRowCheck.isEmpty, step.needsEmptySource.isEmpty,
            step.needsUniqueValues.isEmpty, step.needsValues.isEmpty
        else { return false }
        do {
            return try statements.plan().touched.isEmpty
        } catch is FerryError {
            // What stands in the way is said when the plan is made of counted rows.
            return false
        }
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
}

extension StoreInspection {
    var rowsOfEntities: [String: Int64] { Dictionary(entities.map { ($0.entity, $0.rows) }, uniquingKeysWith: +) }
}

extension Configuration {
    /// Names of objects that the first step leaves out.
    var dropping: Set<String> { Set(dropUnknown) }
}
