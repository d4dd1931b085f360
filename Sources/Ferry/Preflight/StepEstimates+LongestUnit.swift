internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryVerify

/// The longest piece of work that cannot be divided: a budget may be overrun by that time.
extension StepEstimates {
    private typealias Unit = PlanReport.LongestUnit

    /// The longest piece of work of the estimated steps; nil if the plan is refused.
    ///
    /// `swapsStore` says whether the run writes the last step's store into the old one, in one transaction.
    func longestUnit(of steps: [Step], swapsStore: Bool) -> PlanReport.LongestUnit? {
        guard plan.refusals.isEmpty, !steps.isEmpty else { return nil }
        let name = FileLayer.name(of: store.path)
        if plan.mayChangeStore, configuration.output == nil {
            let seconds = steps.reduce(WorkCosts.commit) { $0 + $1.work.secondsInPlace }
            return unit(.transaction, name, 1, rows: Double(allRows), seconds: seconds)
        }
        var all = zip(plan.steps, steps).enumerated().flatMap { index, step in
            step.1.program.map { units(of: step.0, $0, step.1.work, index + 1) }
                ?? [unit(.transaction, name, index + 1, rows: Double(allRows), seconds: step.1.work.secondsInPlace)]
        }
        if swapsStore, let last = steps.last {
            let seconds = WorkCosts.phase + Double(last.destinationBytes) * WorkCosts.swap
            all.append(unit(.swap, name, steps.count, rows: Double(allRows), seconds: seconds))
        }
        return all.max { $0.seconds < $1.seconds }
    }

    private func units(of step: StepPlan, _ program: StepProgram, _ work: RunWork.Step, _ number: Int) -> [Unit] {
        var found = work.indexes.map { index in
            unit(
                .index, index.names.first ?? "", number, rows: index.rows,
                seconds: WorkCosts.item + RunWork.seconds(ofIndex: index))
        }
        found += work.joins.map { join in
            unit(
                .joinTable, join.names.first ?? "", number, rows: join.rows,
                seconds: WorkCosts.item + join.rows * WorkCosts.link)
        }
        if !work.lists.isEmpty {
            let name = FileLayer.name(of: store.path)
            found.append(unit(.transaction, name, number, rows: Double(allRows), seconds: work.secondsInPlace))
        }
        if configuration.verify != .none { found += verified(work, number) }
        found += work.mappings.map { mapping in
            let width = max(1, mapping.width ?? work.width)
            let perRow = RunWork.secondsPerRow(of: mapping, work.width)
            var rows = mapping.rows
            switch configuration.chunkSize {
            case .rows(let most): rows = min(rows, Double(most))
            case .automatic:
                rows = min(
                    rows, Double(configuration.chunkBytes) / width,
                    configuration.chunkTime.inSeconds / (perRow * machine), Double(ChunkSizer.mostRows))
            }
            return unit(.chunk, mapping.name, number, rows: rows, seconds: WorkCosts.item + rows * perRow)
        }
        return found
    }

    /// The parts of a verification: ranges of a table's rows, and whole indexes, each on a thread of its own.
    ///
    /// A search for objects by their values ends at any row, but its results are sorted at once.
    private func verified(_ work: RunWork.Step, _ number: Int) -> [Unit] {
        let alone = WorkCosts.jobs * (configuration.verify == .quick ? WorkCosts.quickly : 1)
        let found = Set(work.mappings.compactMap(\.foundIn))
        let tables = work.tables.filter { !found.contains($0.names[0]) }.map { table in
            let parts = Verification.parts(
                ofKeys: UInt64(min(table.rows, 0x1p52)), columns: Int(table.parts.values + table.parts.keys))
            let rows = table.rows / Double(parts)
            return unit(
                .verification, table.names[0], number, rows: rows,
                seconds: WorkCosts.item + rows * RunWork.verifiedSecondsPerRow(of: table, work.width) * alone)
        }
        let indexes = work.indexes.map { index in
            unit(
                .verification, index.names[0], number, rows: index.rows,
                seconds: WorkCosts.item + index.rows * WorkCosts.verifiedEntry * alone)
        }
        let sorted = work.mappings.filter { $0.foundIn != nil }.map { mapping in
            unit(.verification, mapping.name, number, rows: mapping.rows, seconds: mapping.rows * WorkCosts.sortedFound)
        }
        return tables + indexes + sorted
    }

    private func unit(_ kind: Unit.Kind, _ name: String, _ step: Int, rows: Double, seconds: Double) -> Unit {
        // No store has more rows.
        Unit(kind: kind, name: name, step: step, rows: Int64(min(rows, 0x1p52)), seconds: seconds * machine)
    }
}
