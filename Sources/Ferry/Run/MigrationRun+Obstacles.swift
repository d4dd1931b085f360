internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// What the store itself has against a step of a mapping model in place, though the models allow it.
extension MigrationRun {
    /// The reason why the steps of mapping models must be copies of this store; nil if they need not.
    ///
    /// A copy writes long values in pieces, and leaves behind what is in the way of statements in place.
    func obstacleOfStore(
        _ plan: MigrationPlan, _ inPlace: ProgramInPlace?, _ layout: StoreLayout, _ scans: TableScans
    ) throws -> String? {
        guard copying == nil, configuration.executor == .automatic else { return nil }
        let mapped = plan.steps.filter { $0.mode == .inPlace && !$0.isInferred }
        guard !mapped.isEmpty else { return nil }
        var written: Set<String>?
        if let first = plan.steps.first, first.mode == .inPlace, !first.isInferred, let inPlace {
            switch try inPlace.attempt() {
            // The tables that later steps write are not known yet.
            case .success(let program): if mapped.count == 1 { written = program.moves.writtenTables }
            case .failure(let refusal): return refusal.message
            }
        }
        return try longRow(in: written, layout, scans)
    }

    /// Whether the run is one step on the store itself; else each step has a file of its own.
    func runsInStore(_ plan: MigrationPlan) -> Bool { plan.mayChangeStore && place.output == nil }

    /// The reason why steps in place run on a file of the run folder, though none is a copy; nil on the store itself.
    func reasonForFolder(
        _ plan: MigrationPlan, _ inPlace: ProgramInPlace?, _ store: OpenedStore
    ) throws -> String? {
        if configuration.hasStages { return "a hook runs after it" }
        if plan.isInPlace, hasBegunInFolder { return "an earlier call started it there" }
        if plan.isInPlace, plan.steps.count > 1 { return "each step is verified separately" }
        guard try plan.isInPlace && writesRowsInPlace(plan, inPlace) else { return nil }
        let largest = configuration.thresholds.largestLoggedStore
        if try store.contentBytes() > largest {
            return "it would write rows of a store of more than \(largest.bytesInUnits)"
        }
        return configuration.holdsSwap && !plan.steps.allSatisfy(\.isInferred) ? "the swap is held" : nil
    }

    func writesRowsInPlace(_ plan: MigrationPlan, _ inPlace: ProgramInPlace?) throws -> Bool {
        guard plan.steps.count == 1, case .success(let program)? = try inPlace?.attempt() else { return true }
        return !program.moves.touched.isEmpty
    }

    /// The reason why a row is too long to be written anew in place: SQLite holds it whole in memory.
    ///
    /// `tables` are those whose rows are written; with nil, all may be.
    func longRow(in tables: Set<String>?, _ layout: StoreLayout, _ scans: TableScans) throws -> String? {
        let options = EngineOptions(limitsOf: configuration)
        for table in layout.tablesInOrder where tables?.contains(table.name) != false {
            guard let longest = try scans.longestRow(of: table.name, above: options.wholeValueBytes) else { continue }
            return
                "the table of \(table.root) has a row of \(longest >> 20) MiB, which can be written in pieces only to a copy"
        }
        return nil
    }
}
