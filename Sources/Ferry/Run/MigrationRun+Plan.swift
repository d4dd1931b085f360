internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// Plans a migration once, from what is read of the store.
    ///
    /// A step on the store itself is planned from estimates, and only the tables that it writes are counted: a renaming
    /// takes as long for two million rows as for none, and no statement can write the other tables. What only the store
    /// shows makes copies of the plan's steps; a resumed run takes that from its record.
    func planned(
        _ store: OpenedStore, _ ends: MigrationEnds, _ reading: StoreFacts.Reading,
        resuming earlier: RunRecord.Migration? = nil, asksForLosses: Bool = true
    ) throws -> Planned {
        let isScoped = try mayCountFewTables(of: store, reading)
        let facts = try StoreFacts(of: store, ends, reading, isScoped: isScoped)
        var planner = planner
        // The executor may change between calls; the mode of a step must not.
        if let earlier {
            planner.copying = earlier.copying
        } else if configuration.damaged == .drop {
            planner.copying = Planner.Copying(allBecause: "damaged rows are left out")
        }
        let plan = try plan(facts, by: planner, on: store)
        let inPlace = plan.firstStep.map { step in
            ProgramInPlace(step, dropping: configuration.dropping) { store.sourceGuard.connection }
        }
        var planned = Planned(plan: plan, facts: facts, inPlace: inPlace, copying: planner.copying)
        planned.plan.runsInFolderBecause = try reasonForFolder(planned, store, earlier)
        if isScoped { try count(in: writtenTables(planned), of: &planned, store, by: planner) }
        planned.obstacles = try earlier?.obstacles ?? obstacles(planned, store)
        if planned.obstacles != Planner.Copying() {
            // Steps that are copies write all tables.
            if planned.plan.isInPlace, planned.checkedTables != nil {
                try count(in: nil, of: &planned, store, by: planner)
            }
            planned.plan.copySteps(because: planned.obstacles)
            planned.plan.runsInFolderBecause = try reasonForFolder(planned, store, earlier)
        }
        if planned.plan.steps.contains(where: { $0.mode == .copy }) {
            // What no model explains, history for example, stays where it is.
            planned.plan.keepsSurroundings = try !AppObjects(
                of: planned.layout, into: planned.layout, on: store.sourceGuard.connection, inPlace: true
            ).isEmpty
        }
        try countLosses(of: &planned, on: store, asks: asksForLosses)
        planned.plan.warnings += ends.warnings
        let comparisons = Comparisons(
            of: planned.plan, configuration.verification, isAllowed: configuration.allowsQuadratic)
        planned.plan.warnings += comparisons.warnings
        planned.plan.refusals += comparisons.refusals
        // Without a way to the target, the names do not matter.
        if !planned.plan.steps.isEmpty { planned.plan.refusals += ends.nameRefusals }
        planned.steps = try estimates(planned, store)
        return planned
    }

    /// The plan of the models, with the values on which the route depends.
    private func plan(_ facts: StoreFacts, by planner: Planner, on store: OpenedStore) throws -> MigrationPlan {
        let counter = LossCounter(of: facts.layout, on: store.sourceGuard.connection, rows: facts.rows, now: now)
        var failure: (any Error)?
        let plan = planner.plan(
            from: facts.ends.version, to: facts.ends.target, rows: facts.rows, areRowsEstimated: facts.areEstimated
        ) { properties in
            do { return try counter.presence(of: properties) } catch {
                failure = error
                return [:]
            }
        }
        if let failure { throw failure }
        return plan
    }

    /// Whether a run reads no more than the tables that it writes, if it is a step on the store itself.
    ///
    /// A compressed snapshot reads every page in any case; a clone reads nothing, and its manifest can do without counts.
    private func mayCountFewTables(of store: OpenedStore, _ reading: StoreFacts.Reading) throws -> Bool {
        guard case .all = reading, !takesSnapshot || configuration.snapshots.form == .clone, place.output == nil,
            configuration.damaged == .refuse
        else { return false }
        return try store.contentBytes() > configuration.thresholds.smallStoreBytes
    }

    /// Counts the rows of some tables, all with nil, for the plan.
    private func count(
        in tables: Set<String>?, of planned: inout Planned, _ store: OpenedStore, by planner: Planner
    ) throws {
        try planned.facts.count(in: tables, of: store)
        var planner = planner
        planner.countedEntities = planned.countedEntities
        planner.count(planned.rows, areEstimated: planned.areEstimated, in: &planned.plan)
    }

    /// The store's tables that a step on the store itself writes; nil if all are read, also to be compared.
    private func writtenTables(_ planned: Planned) throws -> Set<String>? {
        let plan = planned.plan
        // A plan with exact counts reports the reason of a refusal.
        guard plan.refusals.isEmpty, plan.mayChangeStore, plan.steps.count == 1, let step = plan.steps.first,
            case .success(let program)? = try planned.inPlace?.attempt()
        else { return nil }
        if program.moves.touched.isEmpty { return step.readsRows ? nil : [] }
        return step.parts.isEmpty ? program.moves.writtenTables : nil
    }

    private func countLosses(of planned: inout Planned, on store: OpenedStore, asks: Bool) throws {
        let counter = LossCounter(
            of: planned.layout, on: store.sourceGuard.connection, rows: planned.rows, scans: planned.scans, now: now,
            readsAll: planned.countsLosses)
        counter.ask(for: planned.plan.losses, planned.plan.transformed)
        planned.plan.losses = try counter.counted(planned.plan.losses)
        planned.transformed = try counter.transformed(planned.plan.transformed).map {
            Transformation(entity: $0.entity, property: $0.property, values: $0.values)
        }
        guard asks else { return }
        let refusal = configuration.refusal(of: planned.plan.losses, hasMappingModels: !inputs.mappingModels.isEmpty)
        if let refusal { planned.plan.refusals.append(refusal) }
    }

    /// The plan for a store that is only read; nil if the store has the target version.
    func planned(_ store: OpenedStore, checksRows: Bool) throws -> Planned? {
        try fitInputs(to: store)
        let ends = try ends(of: store)
        guard ends.version.hashes != ends.target.hashes else { return nil }
        return try FerryError.beforeRun(on: place.store) {
            try store.sourceGuard.scanning(memory, until: stop) {
                try planned(store, ends, checksRows ? .all : .little)
            }
        }
    }

    // MARK: Inputs

    /// Selects the models and mapping models that fit the store.
    func fitInputs(to store: OpenedStore) throws {
        if !configuration.ignoresMappingsBeside { inputs = try inputs.lookingBeside(files: files) }
        inputs = try inputs.fitted(to: store.metadata.hashes, target: configuration.target)
        try inputs.takeOwnModel(of: store)
    }

    /// The store's version and the target version.
    func ends(of store: OpenedStore) throws -> MigrationEnds {
        guard let own = store.version(in: inputs.catalog) else { throw try store.unknownVersion(in: inputs.catalog) }
        if configuration.repairs.keepsVersion { return MigrationEnds(version: own, target: own) }
        let target = try inputs.target(configuration, for: store.metadata.hashes)
        guard let version = store.version(in: inputs.catalog, preferring: target) else {
            throw try store.unknownVersion(in: inputs.catalog)
        }
        try LossNames.check(configuration.losses.exceptions, in: inputs.catalog.versions + [version])
        var ends = MigrationEnds(version: version, target: target)
        guard version.hashes != target.hashes else { return ends }
        try settleNames(of: &ends, store)
        if configuration.repairs.adoption {
            let adoption = try Adoption(of: version, into: ends.target, on: store.sourceGuard.connection)
            (ends.version, ends.warnings) = (adoption.version, adoption.warnings)
        }
        return ends
    }

    private var planner: Planner {
        var planner = Planner(
            catalog: inputs.catalog, mappingModels: inputs.mappingModels, policies: inputs.policies.known,
            executor: configuration.executor, composes: configuration.composition && !configuration.hasStages)
        planner.route = ChainRoute(
            choice: configuration.chain, infers: configuration.infersMappings,
            allowsDowngrade: configuration.allowsDowngrade)
        planner.mappingModelsBeside = inputs.mappingModelsBeside
        planner.inputWarnings = inputs.warnings
        planner.comparisons = inputs.comparisons
        return planner
    }
}

extension StepPlan {
    /// Whether the step has requirements on rows, though it writes none.
    fileprivate var readsRows: Bool {
        !(needsRowCheck.isEmpty && needsEmptySource.isEmpty && needsUniqueValues.isEmpty)
    }
}

extension Configuration {
    var dropping: Set<String> { Set(repairs.removals) }
}
