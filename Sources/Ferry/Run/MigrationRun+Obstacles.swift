internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// What the store itself, or the call, has against steps that leave tables where they are, though the models allow it.
extension MigrationRun {
    /// Of the tables of a step all are healed, or none.
    static let healsDamage = "a copy heals the damage of the store"

    /// Whether the run is one step on the store itself; else each step has a file of its own.
    func runsInStore(_ plan: MigrationPlan) -> Bool { plan.mayChangeStore && place.output == nil }

    func obstacles(_ planned: Planned, _ store: OpenedStore) throws -> Planner.Copying {
        var found = Planner.Copying()
        if configuration.executor == .automatic {
            found.mappedBecause = try obstacleOfStore(planned)
            if found.mappedBecause == nil, try outlastsBudget(planned, store) {
                found.allBecause = "the time budget may run out within its one transaction"
            }
        }
        found.wholeBecause = try reasonToFillAll(planned, store)
        return found
    }

    /// The reason why the steps of mapping models must be copies of this store; nil if they need not.
    ///
    /// A copy writes long values in pieces, and leaves behind what is in the way of statements in place.
    private func obstacleOfStore(_ planned: Planned) throws -> String? {
        let mapped = planned.plan.steps.filter { $0.mode == .inPlace && !$0.isInferred }
        guard !mapped.isEmpty else { return nil }
        var written: Set<String>?
        if let first = planned.plan.steps.first, first.mode == .inPlace, !first.isInferred {
            switch try planned.inPlace?.attempt() {
            // The tables that later steps write are not known yet.
            case .success(let program)?: if mapped.count == 1 { written = program.moves.writtenTables }
            case .failure(let refusal)?: return refusal.message
            case nil: break
            }
        }
        return try longRow(in: written, planned.facts)
    }

    /// Whether a step that rewrites rows in one transaction may never end, since each call stops and begins again.
    private func outlastsBudget(_ planned: Planned, _ store: OpenedStore) throws -> Bool {
        guard let budget = configuration.limits.budget, planned.plan.isInPlace, planned.plan.refusals.isEmpty,
            try writesRowsInPlace(planned)
        else { return false }
        // How long expressions take is not known beforehand.
        guard planned.plan.steps.allSatisfy(\.isInferred) else { return true }
        var planned = planned
        planned.steps = try estimates(planned, store)
        guard let longest = try longestUnit(planned, store) else { return false }
        // The estimate is of an idle machine.
        return longest.time * 3 > budget
    }

    /// The reason why copy steps must fill all tables; nil if they need not.
    private func reasonToFillAll(_ planned: Planned, _ store: OpenedStore) throws -> String? {
        guard let first = planned.plan.steps.first(where: { $0.keptPart != nil }), let kept = first.keptPart else {
            return nil
        }
        guard first.versions == planned.plan.steps.first?.versions else {
            // Which of the store's rows a later step alters is not known yet.
            return try longRow(in: nil, planned.facts)
        }
        if try !Leftover.all(in: planned.layout, on: store.sourceGuard.connection).isEmpty {
            return "the store has tables or columns of earlier versions, which a new store does not have"
        }
        switch try planned.inPlace?.attempt() {
        // Its expressions run in one statement for each table.
        case .success(let program)?
        where configuration.limits.budget != nil && !first.isInferred && !program.moves.touched.isEmpty:
            return "the time budget may run out within a statement"
        case .failure(let refusal)?: return refusal.message
        case .success?, nil: break
        }
        let tables = kept.step.entityMappings.compactMap { planned.layout.table(of: $0.source)?.name }
        return try longRow(in: Set(tables), planned.facts)
    }

    /// The reason why steps in place run on a file of the run folder, though none is a copy; nil on the store itself.
    func reasonForFolder(
        _ planned: Planned, _ store: OpenedStore, _ earlier: RunRecord.Migration?
    ) throws -> String? {
        if configuration.hasStages { return "a hook runs after it" }
        guard planned.plan.isInPlace else { return nil }
        if earlier?.isInPlace == true, earlier?.runsInFolder == true { return "an earlier call started it there" }
        if configuration.holdsSwap { return "the swap is held" }
        if planned.plan.steps.count > 1 { return "each step is verified separately" }
        guard try writesRowsInPlace(planned) else { return nil }
        let largest = configuration.thresholds.largestLoggedStore
        return try store.contentBytes() > largest
            ? "it would write rows of a store of more than \(largest.bytesInUnits)" : nil
    }

    private func writesRowsInPlace(_ planned: Planned) throws -> Bool {
        guard planned.plan.steps.count == 1, case .success(let program)? = try planned.inPlace?.attempt() else {
            return true
        }
        return !program.moves.touched.isEmpty
    }

    /// The reason why a row is too long to be written anew in place: SQLite holds it whole in memory.
    ///
    /// `tables` are those whose rows are written; with nil, all may be.
    private func longRow(in tables: Set<String>?, _ facts: StoreFacts) throws -> String? {
        for table in facts.layout.tablesInOrder where tables?.contains(table.name) != false {
            guard let longest = try facts.scans.longestRow(of: table.name, above: engineOptions.wholeValueBytes) else {
                continue
            }
            return
                "the table of \(table.root) has a row of \(longest >> 20) MiB, which can be written in pieces only to a copy"
        }
        return nil
    }
}

extension MigrationPlan {
    /// Makes copies of steps for reasons that only the store shows.
    mutating func copySteps(because obstacles: Planner.Copying) {
        for index in steps.indices {
            guard let reason = obstacles.reason(for: steps[index]) else { continue }
            steps[index].needsCopyBecause = reason
            (steps[index].keptPart, steps[index].fillsAllBecause) = (nil, reason)
        }
        if let reason = obstacles.wholeBecause { fillAllTables(because: reason) }
    }
}
