internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// One call of a migration; it repeats at most the interrupted unit of a killed call, by the results in the run folder.
final class MigrationRun {
    /// After the store is opened, the inputs that fit it.
    var inputs: Inputs
    let place: RunPlace
    let configuration: Configuration
    let stop: StopRequest
    let relay: EventRelay
    let files: FileLayer
    let start = Clock.nanoseconds()
    /// The peak memory of the process before this call; nil if the system does not report it.
    let peakBefore = ProcessUse.peakMemory()
    var chunkTimes = ChunkTimes()
    /// The one clock of the run: what is counted beforehand has the time that the rows will have.
    lazy var now = configuration.now().timeIntervalSinceReferenceDate
    /// The tables and columns that this call made before the migration.
    var repaired: [String] = []
    var snapshotOfRepair: String?
    /// Whether an earlier call has done a part of the work.
    var isResumed = false
    /// The use of the phases in earlier calls.
    private(set) var earlierPhases: [PhaseUse] = []
    /// Bytes of models, plan and statements, measured when the plan is made.
    private(set) var held: Int
    /// As many bytes as the limit if every share must be the least.
    private let leastHeld: Int
    /// The plan's estimates of this call, for comparison with what it takes.
    var estimates: MigrationReport.Estimates?
    /// What measured the call after preflight, at its end.
    var meter: ProgressMeter?
    /// The orders of an operator after preflight.
    var control: RunControl?
    /// The time of work on this machine, relative to that of a ``WorkItem``.
    var machine: Double?
    /// The bytes of a snapshot for one byte of the store, if they are known.
    var snapshotShare: Double?
    /// Warnings of the report besides those of preflight.
    var warnings: [FerryWarning] = []

    init(
        store: String, inputs: Inputs, configuration: Configuration, stop: StopRequest, relay: EventRelay,
        files: FileLayer, isFrugal: Bool = false
    ) throws {
        leastHeld = isFrugal ? configuration.limits.memory : 0
        held = leastHeld
        self.inputs = inputs
        self.configuration = configuration
        self.stop = stop
        self.relay = relay
        self.files = files
        place = try RunPlace(store: store, output: configuration.output?.filePath, files: files)
        try configuration.checkMemory()
        try configuration.checkPlaces(of: place, files: files)
    }

    /// The division of the memory limit for this store's models and plan.
    var memory: MemoryBudget { MemoryBudget(limit: configuration.limits.memory, held: held) }

    /// Releases unused memory before a phase, and counts what is still held.
    func settleMemory(before store: Int64) {
        memory.releaseUnused(before: store)
        if let now = ResidentMemory.ownBytes(), let before = inputs.memoryBefore {
            held = max(leastHeld, Int(now - before))
        }
    }

    // MARK: The stages of a migration

    func run() throws -> MigrationReport {
        try stop.check()
        var folder: RunFolder?
        var left: RunSession?
        if try RunFolder.exists(place.runFolder, files: files) {
            let found = try RunFolder(path: place.runFolder, files: files)
            left = try found.load(restart: configuration.restart).map { RunSession(found, $0) }
            if let done = left, try done.recover(at: place.result, trace: configuration.trace) {
                resume(with: done)
                if done.head.kind == .migration {
                    let report = report(ending: done)
                    if try !configuration.repairs.keepsVersion && isTarget(report.to) { return report }
                } else {
                    cleanUp(after: done)
                }
                try found.requireEmpty()
                left = nil
            } else {
                if configuration.restart { try found.clear() }
                folder = found
            }
        }
        let (repairs, keepsVersion) = (configuration.repairs.missingParts, configuration.repairs.keepsVersion)
        if keepsVersion, left?.head.kind == .migration, place.output == nil {
            throw FerryError(
                .runDiffers, "\(place.store) has an unfinished migration.",
                remedy: "Finish it, or discard it with \(on: .restart).")
        }
        // An unfinished run began with a whole store.
        if repairs || keepsVersion, folder == nil, place.output == nil { repaired = try repair(place.store) }
        let sourceGuard = try SourceGuard(
            path: place.store, purpose: .migrating, files: files, sideFiles: left?.head.sideFiles,
            vfs: files.vfs(), memory: configuration.memory, trace: configuration.trace)
        do {
            var report = try migrate(sourceGuard, folder: folder, known: configuration.restart ? nil : left)
            if keepsVersion, let output = place.output { report.repaired = try repair(output) }
            return report
        } catch {
            relay.endMeasuring()
            control?.end()
            // The first error is reported; a failed close leaves only empty side files.
            do { try sourceGuard.close() } catch {}
            removeSideFiles(notIn: sourceGuard.sideFiles)
            throw stopped(FerryError.wrapping(error, on: place.store))
        }
    }

    private func migrate(
        _ sourceGuard: SourceGuard, folder found: RunFolder?, known left: RunSession?
    ) throws -> MigrationReport {
        try requireWritable(sourceGuard)
        let store = try OpenedStore(sourceGuard)
        try fitInputs(to: store)
        let ends = try ends(of: store)
        guard ends.version.hashes != ends.target.hashes else {
            return try withoutSteps(store, of: ends.version, as: ends.target, folder: found, known: left)
        }
        let bytes = try store.contentBytes()
        let planned = try planned(store, ends, known: left)
        settleMemory(before: bytes)
        // The report needs code that has not run yet.
        memory.releaseUnused(before: bytes)
        let report = try report(planned, store)
        estimates = MigrationReport.Estimates(report)
        relay.send(.planned(report))
        // Whoever is told of the plan may stop before anything is written.
        try stop.check()
        if left != nil {
            // A run that has begun has passed preflight.
            try Self.refuse(report.refusals)
        } else if report.refusals.contains(where: { $0.code != .lossRefused }) {
            // Losses are refused after the scans, with what these find; what else is refused needs none, like a plan.
            try Self.refuse(
                checked(planned, store, report.refusals, scanning: false)?.refusals ?? report.refusals)
        }
        let known = try left.flatMap { try continued($0, planned.plan, sourceGuard) }
        let begun = try begin(
            planned.plan, record(planned.plan, of: planned), sourceGuard, folder: found, known: known
        ) { try preflight(store, planned) }
        guard let session = begun else {
            return try upToDate(sourceGuard, ends.target, leftover: found, isUnfinished: known != nil)
        }
        try measure(planned, store, session)
        settleMemory(before: bytes)
        try takeSnapshot(of: store, ends.version, rows: planned.countedRows, in: session)
        settleMemory(before: bytes)
        if runsInStore(planned.plan) {
            return try finish(session, sourceGuard) { try runInStore(planned, session, sourceGuard) }
        }
        try runSteps(of: planned.plan, session, sourceGuard)
        return try finish(session, sourceGuard) { try swap(session, sourceGuard) }
    }

    func requireWritable(_ sourceGuard: SourceGuard) throws {
        guard sourceGuard.access != .readWrite, place.output == nil else { return }
        throw FerryError.notWritable(
            place.store, remedy: "Make both writable, or write the new store elsewhere with \(setting: .output).")
    }

    /// Ends a call on a store that has the target version: an output becomes a copy of it.
    private func withoutSteps(
        _ store: OpenedStore, of version: ModelVersion, as target: ModelVersion, folder: RunFolder?,
        known: RunSession?
    ) throws -> MigrationReport {
        // The copy is repaired.
        if !configuration.repairs.keepsVersion || place.output == nil { try checkParts(of: store, as: version) }
        guard place.output != nil, configuration.rehearsesInPlace != true else {
            return try upToDate(store.sourceGuard, target, leftover: folder, isUnfinished: known != nil)
        }
        return try copyUnchanged(store, target, folder: folder, known: known)
    }

    /// The plan of the run; only preflight and the snapshot's manifest need counted rows.
    private func planned(_ store: OpenedStore, _ ends: MigrationEnds, known: RunSession?) throws -> Planned {
        let earlier = known?.head.migration
        let isOnStore = earlier?.isOnStore == true
        let isPastSnapshot = !isOnStore && (known?.head.phase.order ?? 0) > Phase.snapshot.order
        let counted = isOnStore ? earlier.map { StoreFacts.Reading.known($0.rows) } : nil
        do {
            return try store.sourceGuard.scanning(memory, until: stop) {
                // A resumed run does not ask again.
                try planned(
                    store, ends, counted ?? (isPastSnapshot ? .little : .all), resuming: earlier,
                    asksForLosses: counted == nil && !isPastSnapshot)
            }
        } catch {
            guard known == nil else { throw error }
            throw FerryError.beforeRun(error, on: place.store)
        }
    }

    /// Marks this call as a continuation of an earlier call's run.
    func resume(with session: RunSession) {
        isResumed = true
        earlierPhases = session.head.phases
    }

    func noteTimes(_ session: RunSession) {
        session.head.phases = relay.phases.reduce(into: earlierPhases) { $0.add($1) }
    }

    /// Saves the record with the times of the phases so far.
    func saveWithTimes(_ session: RunSession) throws {
        noteTimes(session)
        try session.save()
    }

    /// Whether a version, by name, is the target of the migration.
    private func isTarget(_ name: String) throws -> Bool {
        let version: ModelVersion
        do throws(FerryError) {
            version = try inputs.catalog.version(named: name)
        } catch {
            // The models have changed since.
            return false
        }
        return try inputs.target(configuration, for: version.hashes).hashes == version.hashes
    }

    // MARK: Before anything changes

    private func preflight(_ store: OpenedStore, _ planned: Planned) throws -> Findings {
        let plan = planned.plan
        guard let (refusals, preflight) = try checked(planned, store) else { return Findings() }
        var findings = Findings(preflight.findings, isInPlace: plan.steps[0].mode == .inPlace)
        findings.losses = plan.losses.map(Loss.init) + findings.losses
        findings.transformed = planned.transformed
        findings.warnings = plan.allWarnings + findings.warnings
        if let warning = budgetWarning(estimates?.longestUnit) { findings.warnings.append(warning) }
        findings.warnings += warningsOfUnchecked(planned)
        if configuration.damaged == .drop, plan.keepsSurroundings,
            findings.warnings.contains(where: { $0.code == .damagedPages })
        {
            throw FerryError(
                .storeDamaged,
                "Unreachable rows of \(place.store) cannot be left out: its history, CloudKit records or objects of the "
                    + "app stay with all of its pages.",
                remedy: "Restore a backup or a snapshot, or recover what is left into a new file with .recover of the "
                    + "sqlite3 shell and migrate that.")
        }
        try Self.refuse(refusals)
        for warning in findings.warnings { relay.send(.warning(warning)) }
        return findings
    }

    /// What neither preflight nor verification looks at.
    func warningsOfUnchecked(_ planned: Planned) -> [FerryWarning] {
        var warnings: [FerryWarning] = []
        func warn(_ code: FerryWarning.Code, _ message: String) {
            warnings.append(FerryWarning(code, message, about: .init(path: place.store)))
        }
        if !planned.writesRows {
            warn(
                .rowsNotChecked,
                "No rows are written, so none were scanned: row counts are estimates, and damage stays as it is.")
        } else if let checked = planned.checkedTables {
            warn(
                .rowsNotChecked,
                "Only the rows of \(checked.sorted().joined(separator: ", ")) are written, so no others were scanned: "
                    + "their counts are estimates, and damage in them stays as it is.")
        }
        if configuration.verification == .none, planned.plan.steps.contains(where: \.resolved.mayShareFiles) {
            warn(
                .sharedFilesNotChecked,
                "With these mapping models, two values may refer to the same external file, which Core Data may delete "
                    + "with either; only verification detects this, and it is turned off.")
        }
        return warnings
    }

    /// Throws the first refusal, with all of them as its cause.
    private static func refuse(_ refusals: [FerryError]) throws {
        guard var first = refusals.first else { return }
        if refusals.count > 1 { first.cause = PlanRefusals(refusals: refusals) }
        throw first
    }

    func upToDate(
        _ sourceGuard: SourceGuard, _ target: ModelVersion, leftover: RunFolder?, isUnfinished: Bool
    ) throws -> MigrationReport {
        try sourceGuard.close()
        if let leftover {
            if !isUnfinished {
                try leftover.remove()
            } else {
                warn(
                    FerryWarning(
                        .unfinishedRun,
                        "\(leftover.path) is left over from an unfinished run; starting over removes it.",
                        about: .init(path: leftover.path)))
            }
        }
        let name = inputs.catalog.displayName(of: target)
        var report = MigrationReport(
            outcome: .upToDate, store: Self.url(place.result), from: name, to: name, chain: [name], mode: .nothing)
        report.wallTime = time(since: start)
        report.peakResidentBytes = ProcessUse.peakMemory()
        report.warnings = warnings
        report.repaired = repaired
        report.snapshot = snapshotOfRepair.map(Self.url)
        relay.send(.finished(report))
        return report
    }

    /// Removes empty side files that did not exist before the run, also those of a store that returned to WAL mode.
    func removeSideFiles(notIn before: SideFiles) {
        do {
            let now = try SideFiles(of: StoreFileNames(place.store), files: files)
            guard (now.hadLog && !before.hadLog) || (now.hadIndex && !before.hadIndex) else { return }
            try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: before).close()
        } catch {
            // The caller reports another error, and empty files do no harm.
        }
    }

    /// Sends a warning at once, and adds it to the report.
    func warn(_ warning: FerryWarning) {
        warnings.append(warning)
        relay.send(.warning(warning))
    }

    func time(since time: UInt64) -> Duration { .clamped(nanoseconds: Clock.nanoseconds(since: time)) }
}
