internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// How much a plan reads of the store's rows.
    enum Reading {
        /// As little as possible, for a plan without scans.
        case little
        /// What a migration reads before it begins, with the number of all losses.
        case all
        /// What a migration reads before it begins.
        case run
        /// What a migration reads after its snapshot: no step needs counts.
        case afterSnapshot
        /// Nothing, with the counts of an earlier call.
        case known([String: Int64])
    }

    /// Plans a migration, from what is read of the store.
    ///
    /// A step on the store itself is planned from estimates, and only the tables that it writes are counted: a renaming
    /// takes as long for two million rows as for none, and no statement can write the other tables.
    func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, _ reading: Reading
    ) throws -> Planned {
        let isScoped = try mayCountFewTables(of: store, reading)
        var facts: StoreFacts
        switch reading {
        case .known(let rows): facts = try StoreFacts(of: store, as: version, to: target, .estimated, known: rows)
        case .little: facts = try StoreFacts(of: store, as: version, to: target, .estimated)
        case .afterSnapshot:
            facts = try StoreFacts(of: store, as: version, to: target, .estimated)
            facts.areEstimated = true
        case .run, .all:
            facts = try StoreFacts(of: store, as: version, to: target, isScoped ? .estimated : .exact)
        }
        var (plan, inPlace) = try plan(facts, on: store)
        if isScoped {
            try facts.count(in: writtenTables(plan, inPlace), of: store)
            var planner = planner
            planner.countedEntities = facts.countedEntities
            planner.count(facts.rows, areEstimated: facts.areEstimated, in: &plan)
        }
        var planned = Planned(plan: plan, facts: facts, inPlace: inPlace)
        try countLosses(of: &planned, on: store, reading)
        planned.plan.warnings += adoption?.warnings ?? []
        let comparisons = Comparisons(
            of: planned.plan, configuration.verification, isAllowed: configuration.allowsQuadratic)
        planned.plan.warnings += comparisons.warnings
        planned.plan.refusals += comparisons.refusals
        // Without a way to the target, the names do not matter.
        if !planned.plan.steps.isEmpty { planned.plan.refusals += nameRefusals }
        planned.steps = try stepEstimates(planned, store)
        guard copying == nil, try outlastsBudget(planned, store) else { return planned }
        copying = Planner.Copying(allBecause: "the time budget may run out within its one transaction")
        return try self.planned(store, from: version, to: target, reading)
    }

    /// Whether a run reads no more than the tables that it writes, if it is a step on the store itself.
    ///
    /// A compressed snapshot reads every page in any case; a clone reads nothing, and its manifest can do without counts.
    private func mayCountFewTables(of store: OpenedStore, _ reading: Reading) throws -> Bool {
        switch reading {
        case .little, .afterSnapshot, .known: return false
        case .run, .all: break
        }
        guard !takesSnapshot || configuration.snapshots.form == .clone, place.output == nil,
            configuration.damaged == .refuse
        else { return false }
        return try store.contentBytes() > configuration.thresholds.smallStoreBytes
    }

    /// The store's tables that a step on the store itself writes; nil if all are read, also to be compared.
    private func writtenTables(_ plan: MigrationPlan, _ inPlace: ProgramInPlace?) throws -> Set<String>? {
        // A plan with exact counts reports the reason of a refusal.
        guard plan.refusals.isEmpty, plan.mayChangeStore, plan.steps.count == 1, let step = plan.steps.first,
            case .success(let program)? = try inPlace?.attempt()
        else { return nil }
        if program.moves.touched.isEmpty { return step.readsRows ? nil : [] }
        return step.parts.isEmpty ? program.moves.writtenTables : nil
    }

    private func countLosses(of planned: inout Planned, on store: OpenedStore, _ reading: Reading) throws {
        let counter = LossCounter(
            connection: store.sourceGuard.connection, layout: planned.layout, rows: planned.rows, scans: planned.scans,
            now: now)
        var effort = LossCounter.Effort.presence
        switch reading {
        case .little, .known: effort = .little
        case .all: effort = .all
        case .run, .afterSnapshot: if configuration.losses.areAllowed { effort = .little }
        }
        counter.ask(for: planned.plan.losses, planned.plan.transformed)
        planned.plan.losses = try counter.counted(planned.plan.losses, effort)
        planned.transformed = try counter.transformed(planned.plan.transformed, effort)
        // A resumed run does not ask again.
        if case .known = reading { return }
        let refusal = configuration.refusal(of: planned.plan.losses, hasMappingModels: !inputs.mappingModels.isEmpty)
        if let refusal { planned.plan.refusals.append(refusal) }
    }

    /// The plan for a store that is only read; nil if the store has the target version.
    func planned(_ store: OpenedStore, checksRows: Bool) throws -> Planned? {
        try fitInputs(to: store)
        let (version, target) = try ends(of: store)
        guard version.hashes != target.hashes else { return nil }
        return try FerryError.beforeRun(on: place.store) {
            try planned(store, from: version, to: target, checksRows ? .all : .little)
        }
    }

    // MARK: The plan alone

    /// Makes the plan, and makes it once more if the store itself has something against a step in place.
    private func plan(_ facts: StoreFacts, on store: OpenedStore) throws -> (MigrationPlan, ProgramInPlace?) {
        if copying == nil, configuration.damaged == .drop {
            copying = Planner.Copying(allBecause: "damaged rows are left out")
        }
        var plan = try answered(facts, on: store)
        var inPlace = programInPlace(of: plan, on: store)
        if let reason = try obstacleOfStore(plan, inPlace, facts.layout, facts.scans) {
            copying = Planner.Copying(mappedBecause: reason)
            plan = try answered(facts, on: store)
            inPlace = programInPlace(of: plan, on: store)
        }
        if let reason = try reasonToFillAll(plan, store, facts.layout, facts.scans) {
            var copying = planner.copying
            copying.wholeBecause = reason
            self.copying = copying
            plan.fillAllTables(because: reason)
        }
        if plan.steps.contains(where: { $0.mode == .copy }) {
            plan.keepsSurroundings = try hasSurroundings(store, facts.layout)
        }
        plan.runsInFolderBecause = try reasonForFolder(plan, inPlace, store)
        return (plan, inPlace)
    }

    private func programInPlace(of plan: MigrationPlan, on store: OpenedStore) -> ProgramInPlace? {
        plan.firstStep.map { step in
            ProgramInPlace(step, dropping: configuration.dropping) { store.sourceGuard.connection }
        }
    }

    /// Plans with the values on which the route depends.
    private func answered(_ facts: StoreFacts, on store: OpenedStore) throws -> MigrationPlan {
        var planner = planner
        planner.endsAtQuestions = true
        let ends = RouteEnds(source: facts.version.hashes, target: facts.target.hashes, name: configuration.target)
        planner.comparisons = inputs.comparisons.withLock { $0[ends] ?? [] }
        let plan = planner.plan(
            from: facts.version, to: facts.target, rows: facts.rows, areRowsEstimated: facts.areEstimated)
        if !plan.comparisons.isEmpty { inputs.comparisons.withLock { $0[ends] = plan.comparisons } }
        guard !plan.questions.isEmpty else { return plan }
        planner.endsAtQuestions = false
        planner.comparisons = plan.comparisons
        planner.values = try LossCounter(
            connection: store.sourceGuard.connection, layout: facts.layout, rows: facts.rows, now: now
        ).presence(of: plan.questions)
        return planner.plan(
            from: facts.version, to: facts.target, rows: facts.rows, areRowsEstimated: facts.areEstimated)
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
        if configuration.repairs.keepsVersion { return (own, own) }
        let target = try inputs.target(configuration, for: store.metadata.hashes)
        guard let version = store.version(in: inputs.catalog, preferring: target) else {
            throw try store.unknownVersion(in: inputs.catalog)
        }
        try LossNames.check(configuration.losses.exceptions, in: inputs.catalog.versions + [version])
        guard version.hashes != target.hashes else { return (version, target) }
        let named = try settleNames(of: target, from: version, store)
        guard configuration.repairs.adoption else { return (version, named) }
        let adoption = try Adoption(of: version, into: named, on: store.sourceGuard.connection)
        self.adoption = adoption
        return (adoption.version, named)
    }

    var planner: Planner {
        var planner = Planner(
            catalog: inputs.catalog, mappingModels: inputs.mappingModels, policies: inputs.policies.known,
            executor: configuration.executor, composes: configuration.composition && !configuration.hasStages)
        planner.route = configuration.route
        planner.mappingModelsBeside = inputs.mappingModelsBeside
        planner.inputWarnings = inputs.warnings
        // The executor may change between calls; the mode of a step must not.
        if let copying { planner.copying = copying }
        return planner
    }

    /// Whether a step that rewrites rows in one transaction may never end, since each call stops and begins again.
    private func outlastsBudget(_ planned: Planned, _ store: OpenedStore) throws -> Bool {
        guard let budget = configuration.limits.budget, configuration.executor == .automatic, planned.plan.isInPlace,
            planned.plan.refusals.isEmpty, try writesRowsInPlace(planned.plan, planned.inPlace)
        else { return false }
        // How long expressions take is not known beforehand.
        guard planned.plan.steps.allSatisfy(\.isInferred) else { return true }
        guard let longest = try longestUnit(planned, store) else { return false }
        // The estimate is of an idle machine.
        return longest.time * 3 > budget
    }
}

extension StepPlan {
    /// Whether the step has requirements on rows, though it writes none.
    fileprivate var readsRows: Bool {
        !(needsRowCheck.isEmpty && needsEmptySource.isEmpty && needsUniqueValues.isEmpty && needsValues.isEmpty)
    }
}

extension Configuration {
    var dropping: Set<String> { Set(repairs.removals) }
}
