internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension MigrationRun {
    /// A plan with what was found out about the store for it.
    struct Planned {
        var plan: MigrationPlan
        var layout: StoreLayout
        /// Rows of exactly each entity; estimated for a plan that writes none.
        var rows: [String: Int64]
        /// Nil for a plan without steps.
        var statements: StatementsInPlace?
        var writesRows = true
        /// Tables that were seen to hold no row of an unknown entity.
        var soundTables: Set<String> = []
        /// What was found on the way over the store's pages, where they were walked over.
        var walk: PageWalk?
    }

    /// A store whose pages are looked at in no time, so that there is no reason not to.
    static let smallStoreBytes: Int64 = 16 << 20

    /// The plan, made of counted rows unless none of them matters.
    ///
    /// A step in place that writes no row (a renaming, a new attribute without default) takes as long on two million
    /// rows as on none; counting them would take longer than all the rest.
    ///
    /// - Parameters:
    ///   - store: The store, under its guard.
    ///   - version: Its version.
    ///   - target: The version that it is to have.
    ///   - isPastSnapshot: Whether nothing that follows needs to know the rows.
    ///   - counted: Rows that an earlier call has counted.
    ///   - folder: The run's, where there is one.
    /// - Returns: The plan, and what was found on the way.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, isPastSnapshot: Bool,
        counted: [String: Int64]?, in folder: RunFolder?
    ) throws -> Planned {
        if let counted {
            let layout = try store.inspect(version, counting: .estimated).1
            let plan = try makePlan(from: version, to: target, store, layout, rows: counted, areRowsEstimated: false)
            return Planned(plan: plan, layout: layout, rows: counted, statements: statements(of: plan, store))
        }
        let asksForRows = isPastSnapshot || takesSnapshot || place.output != nil || configuration.damaged != .refuse
        if !asksForRows, try store.contentBytes() > Self.smallStoreBytes {
            var planned = try planned(store, from: version, to: target, .estimated, countsLosses: false)
            if try writesNoRow(planned) {
                planned.writesRows = false
                planned.plan.losses = try losses(of: planned.plan, store, planned.layout, rows: planned.rows)
                return planned
            }
        }
        guard !isPastSnapshot else { return try planned(store, from: version, to: target, .estimated) }
        // The pages are checked before anything else, so what is to be counted is counted on the way.
        return try planned(store, from: version, to: target, .exact) { try walkPages(of: store, $0, folder) }
    }

    private func planned(
        _ store: OpenedStore, from version: ModelVersion, to target: ModelVersion, _ counting: StoreInspection.Counting,
        countsLosses: Bool = true, walkingBy makeWalk: (StoreLayout) throws -> PageWalk? = { _ in nil }
    ) throws -> Planned {
        var walk: PageWalk?
        let (inspection, layout) = try store.inspect(version, counting: counting) { layout in
            walk = try makeWalk(layout)
            return walk
        }
        let rows = Dictionary(inspection.entities.map { ($0.entity, $0.rows) }, uniquingKeysWith: +)
        let plan = try makePlan(
            from: version, to: target, store, layout, rows: rows, areRowsEstimated: counting == .estimated,
            countsLosses: countsLosses, walk: walk)
        return Planned(
            plan: plan, layout: layout, rows: rows, statements: statements(of: plan, store),
            soundTables: inspection.soundTables, walk: walk)
    }

    /// What a plan's first step does where it is one in place.
    func statements(of plan: MigrationPlan, _ store: OpenedStore) -> StatementsInPlace? {
        plan.steps.first.map { step in
            StatementsInPlace(step, dropping: Set(configuration.dropUnknown)) { store.sourceGuard.connection }
        }
    }

    /// Whether a plan is one step in place that writes no row and requires nothing of any.
    private func writesNoRow(_ planned: Planned) throws -> Bool {
        let plan = planned.plan
        guard plan.refusals.isEmpty, plan.isInPlace, plan.steps.count == 1, let step = plan.steps.first,
            let statements = planned.statements, step.needsRowCheck.isEmpty, step.needsEmptySource.isEmpty,
            step.needsUniqueValues.isEmpty,
            step.needsValues.isEmpty
        else { return false }
        do {
            return try statements.plan().touched.isEmpty
        } catch is FerryError {
            // What stands in the way is said when the plan is made of counted rows.
            return false
        }
    }
}

extension EngineOptions {
    /// Takes over how much is carried at a time.
    mutating func size(by configuration: Configuration) {
        switch configuration.chunkSize {
        case .rows(let rows): chunkSize = .rows(rows)
        case .automatic: chunkSize = .automatic
        }
        chunkBytes = configuration.chunkBytes
        let (seconds, attoseconds) = configuration.chunkTime.components
        chunkNanoseconds = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
        memoryLimit = configuration.memoryLimit
    }
}
