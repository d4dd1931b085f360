internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// A plan with the facts about the store on which it is based.
struct Planned {
    var plan: MigrationPlan
    let inspection: StoreInspection
    let layout: StoreLayout
    /// Rows of exactly each entity; estimated for a plan that writes none.
    let rows: [String: Int64]
    /// The program of the first step, if it runs in place; nil for a plan without steps.
    let inPlace: ProgramInPlace?
    /// What is asked about rows: of all tables whose rows are counted.
    let scans: TableScans
    /// The store's tables whose pages and rows are checked: those that the run writes; nil for all.
    var checkedTables: Set<String>?
    /// The properties whose values are computed anew.
    var transformed: [Transformation] = []
    /// The estimates of the steps; empty until they are made.
    var steps: [StepEstimate] = []

    /// Whether the run writes rows; if not, it ignores their damage.
    var writesRows: Bool { checkedTables?.isEmpty != true }

    /// The rows of the entities that were counted; estimates are in no snapshot's manifest.
    var countedRows: [String: Int64] {
        guard let checkedTables else { return rows }
        return rows.filter { entity, _ in layout.table(of: entity).map { checkedTables.contains($0.name) } == true }
    }

    func checks(_ table: String) -> Bool { checkedTables?.contains(table) != false }
}

extension MigrationRun {
    /// A plan with the estimates of its steps; made again if its one transaction may outlast the budget.
    func estimated(_ planned: Planned, _ store: OpenedStore, again: () throws -> Planned?) throws -> Planned {
        var planned = planned
        planned.steps = try stepEstimates(planned, store)
        guard copying == nil, try outlastsBudget(planned, store) else { return planned }
        copying = Planner.Copying(allBecause: "the time budget may run out within its one transaction")
        guard var planned = try again() else { return planned }
        planned.steps = try stepEstimates(planned, store)
        return planned
    }

    /// Whether a step that rewrites rows in one transaction may never end, since each call stops and begins again.
    private func outlastsBudget(_ planned: Planned, _ store: OpenedStore) throws -> Bool {
        guard let budget = configuration.budget, configuration.executor == .automatic, planned.plan.isInPlace,
            planned.plan.refusals.isEmpty, try writesRowsInPlace(planned.plan, planned.inPlace),
            let longest = try longestUnit(planned, store)
        else { return false }
        // The estimate is of an idle machine.
        return longest.time * 3 > budget
    }

    /// The plan, with counted rows unless the counts do not matter.
    ///
    /// A step in place that writes no row (a renaming, a new attribute without default) takes as long for two million
    /// rows as for none; counting the rows would take longer than the rest. `counted` are counts of an earlier call,
    /// and no step after the snapshot needs counts.
    func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, isPastSnapshot: Bool,
        counted: [String: Int64]?
    ) throws -> Planned {
        if let counted {
            return try planned(
                store, from: version, to: target, .estimated, areRowsEstimated: false, counted: counted)
        }
        // A clone reads nothing, and its manifest can do without the counts.
        let readsAll = takesSnapshot && !configuration.clonesSnapshot
        let asksForRows = isPastSnapshot || readsAll || place.output != nil || configuration.damaged != .refuse
        if !asksForRows, try store.contentBytes() > configuration.thresholds.smallStoreBytes {
            var planned = try planned(
                store, from: version, to: target, .estimated, areRowsEstimated: true, losses: nil)
            if try writesNoRow(planned) {
                planned.checkedTables = []
                planned.plan.losses = try LossCounter(
                    connection: store.sourceGuard.connection, layout: planned.layout, rows: planned.rows, now: now
                ).counted(planned.plan.losses, configuration.losses == .allow ? .little : .presence)
                refuseLosses(of: &planned.plan)
                return planned
            }
            if let planned = try plannedForWritten(planned, store, from: version, to: target) { return planned }
        }
        guard !isPastSnapshot else {
            return try planned(store, from: version, to: target, .estimated, areRowsEstimated: true)
        }
        return try planned(store, from: version, to: target, .exact)
    }

    /// The plan of one step in place that checks and counts only the tables that it writes; nil if all are checked.
    ///
    /// Beside a compressed snapshot a run reads every page in any case, and in a file of the run folder full verification
    /// compares all rows; on the store itself no statement can write the other tables.
    private func plannedForWritten(
        _ estimated: Planned, _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion
    ) throws -> Planned? {
        guard configuration.verify != .full || estimated.plan.runsInFolderBecause == nil,
            let tables = try writtenTables(estimated)
        else { return nil }
        var planned = try planned(store, from: version, to: target, .exactly(in: tables))
        guard try writtenTables(planned) == tables else { return nil }
        planned.checkedTables = tables
        return planned
    }

    private func writtenTables(_ planned: Planned) throws -> Set<String>? {
        let plan = planned.plan
        guard plan.refusals.isEmpty, plan.mayChangeStore, plan.steps.count == 1, plan.steps[0].parts.isEmpty else {
            return nil
        }
        return try planned.inPlace?.program().moves.writtenTables
    }

    /// The plan for a store that is only read; nil if the store has the target version.
    func planned(_ store: OpenedStore, checksRows: Bool) throws -> Planned? {
        try fitInputs(to: store)
        let (version, target) = try ends(of: store)
        guard version.hashes != target.hashes else { return nil }
        return try FerryError.beforeRun(on: place.store) {
            try planned(
                store, from: version, to: target, checksRows ? .exact : .estimated, losses: checksRows ? .all : .little)
        }
    }

    private func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, _ counting: StoreInspection.Counting,
        areRowsEstimated: Bool? = nil, counted: [String: Int64]? = nil, losses effort: LossCounter.Effort? = .presence
    ) throws -> Planned {
        let (inspection, layout) = try store.inspect(version, counting: counting)
        let scans = TableScans(on: store.sourceGuard.connection, of: counting.tables)
        let rows = counted ?? inspection.rowsOfEntities
        let areRowsEstimated = areRowsEstimated ?? inspection.entities.contains(where: \.isEstimated)
        // Elsewhere either all counts are exact, or none is taken for it.
        let isMixed = if case .exactly = counting { true } else { false }
        let exact = isMixed ? Set(inspection.entities.filter { !$0.isEstimated }.map(\.name)) : []
        let counter = LossCounter(
            connection: store.sourceGuard.connection, layout: layout, rows: rows, scans: scans, now: now)
        var plan = try plan(from: version, to: target, rows, exact, areRowsEstimated: areRowsEstimated, counter)
        var inPlace = programInPlace(of: plan, on: store)
        if let reason = try obstacleOfStore(plan, inPlace, layout, scans) {
            copying = Planner.Copying(mappedBecause: reason)
            plan = try self.plan(from: version, to: target, rows, exact, areRowsEstimated: areRowsEstimated, counter)
            inPlace = programInPlace(of: plan, on: store)
        }
        if let reason = try reasonToFillAll(plan, store, layout, scans) {
            var copying = planner.copying
            copying.wholeBecause = reason
            self.copying = copying
            plan.fillAllTables(because: reason)
        }
        plan.runsInFolderBecause = try reasonForFolder(plan, inPlace)
        var transformed: [Transformation] = []
        if let effort {
            // A resumed run does not ask again.
            let isShort = effort == .presence && (configuration.losses == .allow || counted != nil)
            counter.ask(for: plan.losses, plan.transformed)
            plan.losses = try counter.counted(plan.losses, isShort ? .little : effort)
            transformed = try counter.transformed(plan.transformed, isShort ? .little : effort)
            if counted == nil { refuseLosses(of: &plan) }
        }
        plan.warnings += adoption?.warnings ?? []
        let comparisons = Comparisons(of: plan, configuration)
        plan.warnings += comparisons.warnings
        plan.refusals += comparisons.refusals
        // Without a way to the target, the names do not matter.
        if !plan.steps.isEmpty { plan.refusals += nameRefusals }
        return Planned(
            plan: plan, inspection: inspection, layout: layout, rows: rows, inPlace: inPlace, scans: scans,
            transformed: transformed)
    }

    private func programInPlace(of plan: MigrationPlan, on store: OpenedStore) -> ProgramInPlace? {
        plan.firstStep.map { step in
            ProgramInPlace(step, dropping: configuration.dropping) { store.sourceGuard.connection }
        }
    }

    private func refuseLosses(of plan: inout MigrationPlan) {
        let isGiven = !inputs.mappingModels.isEmpty
        if let refusal = configuration.refusal(of: plan.losses, hasMappingModels: isGiven) {
            plan.refusals.append(refusal)
        }
    }

    /// Makes the plan, and reads the rows on which the route depends; `exact` are entities with counted rows beside
    /// estimated ones.
    private func plan(
        from version: ModelVersion, to target: ModelVersion, _ rows: [String: Int64], _ exact: Set<String>,
        areRowsEstimated: Bool, _ counter: LossCounter
    ) throws -> MigrationPlan {
        var planner = planner
        planner.countedEntities = exact
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
        return plan
    }

    /// Whether a plan is one step in place that writes no row and has no requirements on rows.
    private func writesNoRow(_ planned: Planned) throws -> Bool {
        let plan = planned.plan
        guard plan.refusals.isEmpty, plan.mayChangeStore, plan.steps.count == 1, let step = plan.steps.first,
            step.needsRowCheck.isEmpty, step.needsEmptySource.isEmpty,
            step.needsUniqueValues.isEmpty, step.needsValues.isEmpty,
            // The plan with counted rows reports the reason of a refusal.
            case .success(let program)? = try planned.inPlace?.attempt()
        else { return false }
        return program.moves.touched.isEmpty
    }

    /// Selects the models and mapping models that fit the store.
    func fitInputs(to store: OpenedStore) throws {
        if !configuration.ignoresMappingsBeside { inputs = try inputs.lookingBeside(files: files) }
        inputs = try inputs.fitted(to: store.metadata.hashes, target: configuration.target)
        try inputs.takeOwnModel(of: store)
    }

    /// The store's version and the target version.
    func ends(of store: OpenedStore) throws -> (ModelVersion, target: ModelVersion) {
        guard let own = store.version(in: inputs.catalog) else { throw try store.unknownVersion(in: inputs.catalog) }
        if configuration.keepsVersion { return (own, own) }
        let target = try inputs.target(configuration, for: store.metadata.hashes)
        guard let version = store.version(in: inputs.catalog, preferring: target) else {
            throw try store.unknownVersion(in: inputs.catalog)
        }
        try LossNames.check(configuration.allowedLosses, in: inputs.catalog.versions + [version])
        guard version.hashes != target.hashes else { return (version, target) }
        let named = try settleNames(of: target, from: version, store)
        guard configuration.adopts else { return (version, named) }
        let adoption = try Adoption(of: version, into: named, on: store.sourceGuard.connection)
        self.adoption = adoption
        return (adoption.version, named)
    }

    var planner: Planner {
        var planner = Planner(
            catalog: inputs.catalog, mappingModels: inputs.mappingModels, policies: inputs.policies.known,
            executor: configuration.executor, composes: configuration.composes && !configuration.hasStages)
        planner.route = configuration.route
        planner.mappingModelsBeside = inputs.mappingModelsBeside
        planner.inputWarnings = inputs.warnings
        // The executor may change between calls; the mode of a step must not.
        if let copying { planner.copying = copying }
        return planner
    }
}

extension StoreInspection {
    var rowsOfEntities: [String: Int64] { Dictionary(entities.map { ($0.name, $0.rows ?? 0) }, uniquingKeysWith: +) }
}

extension Configuration {
    var dropping: Set<String> { Set(dropUnknown) }
}
