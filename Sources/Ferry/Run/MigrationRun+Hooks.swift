internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

/// The app's hooks before and after each step.
///
/// A hook whose call ended before its return was recorded is called again, with the store as at the first time.
struct StepHooks {
    let run: MigrationRun
    let session: RunSession
    let plan: MigrationPlan

    /// Calls the app's hook before a step, and checks that it has not changed the step's source.
    func callWillMigrate(_ number: Int, _ sourceGuard: SourceGuard) throws {
        guard let hook = run.configuration.willMigrate, (session.migration.begunStep ?? 0) < number else { return }
        let store = number > 1 ? session.destination(ofStep: number - 1) : run.place.store
        try call(hook, "willMigrate", stage(number, store))
        if number > 1 {
            guard try isUntouched(store, session.migration.steps.last?.destination) else {
                throw FerryError(
                    .stageFailed,
                    "The hook willMigrate of step \(number) changed \(store). \(run.place.store) is unchanged.",
                    remedy: "Change it in didMigrate of the previous step, and start over with \(on: .restart).")
            }
            try StoreFileNames(store).removeSides(files: run.files)
        } else {
            try session.head.checkSource(sourceGuard.fingerprint())
        }
        session.migration.begunStep = number
        try session.save()
        run.stop.unitIsDone()
    }

    /// Calls the app's hook after a step, and verifies the destination again if the hook has changed it.
    func callDidMigrate(_ number: Int) throws {
        guard let hook = run.configuration.didMigrate, session.migration.steps.count == number,
            session.migration.steps[number - 1].isSeen != true
        else { return }
        let store = session.destination(ofStep: number)
        // Damage that the store had before is not the hook's.
        let known =
            session.migration.findings.kept.isEmpty ? [] : try differences(of: store, plan.steps[number - 1], number)
        try call(hook, "didMigrate", stage(number, store))
        if try !isUntouched(store, session.migration.steps[number - 1].destination) {
            try take(store, of: plan.steps[number - 1], number, but: known)
        }
        try StoreFileNames(store).removeSides(files: run.files)
        try run.files.syncFile(store)
        try run.files.syncFolder(session.folder.stepFolder(number))
        session.migration.steps[number - 1].isSeen = true
        session.migration.steps[number - 1].destination = FileState(try run.files.attributes(store))
        try session.save()
        run.stop.unitIsDone()
    }

    /// Discards a step whose result a hook was changing when the call ended; the step then runs again, with its hook.
    func discardChangedStep(_ number: Int) throws {
        guard run.configuration.didMigrate != nil, let last = session.migration.steps.last,
            session.migration.steps.count == number,
            last.isFinished, last.isSeen != true,
            try !isUntouched(session.destination(ofStep: number), last.destination)
        else { return }
        // The folder is deleted first: after a kill in between, the next call finds no result and repeats this.
        if try run.files.exists(session.folder.stepFolder(number)) {
            try run.files.removeTree(session.folder.stepFolder(number))
        }
        session.migration.steps.removeLast()
        try session.save()
    }

    private func stage(_ number: Int, _ store: String) -> MigrationStage {
        let step = plan.steps[number - 1]
        return MigrationStage(
            number: number, count: plan.steps.count, from: step.versions.first ?? step.resolved.source.name,
            to: step.versions.last ?? step.resolved.destination.name, store: MigrationRun.url(store))
    }

    private func call(_ hook: Configuration.StageHook, _ name: String, _ stage: MigrationStage) throws {
        try run.stop.check()
        do {
            try hook(stage)
        } catch is CancellationError {
            throw FerryError.cancelled
        } catch {
            throw FerryError(
                .stageFailed,
                "The hook \(name) of step \(stage.number), from \(stage.from) to \(stage.to), threw an error. "
                    + "\(run.place.store) is unchanged.",
                remedy: "Correct the error's cause and migrate again. The hook is called again.",
                cause: error)
        }
    }

    // MARK: The store of a hook

    /// Whether a store is the recorded file, and its journals are empty.
    private func isUntouched(_ store: String, _ recorded: FileState?) throws -> Bool {
        try run.files.attributesIfPresent(store).map(FileState.init) == recorded
            && StoreFileNames(store).areJournalsEmpty(files: run.files)
    }

    /// Writes a hook's changes back to the store's main file, and checks that the store still has its version.
    private func take(
        _ store: String, of step: StepPlan, _ number: Int, but known: [VerificationSummary.Difference]
    ) throws {
        let version = step.resolved.destination
        do {
            let connection = try Connection(
                inPlace: store, memory: run.memory, vfs: run.files.vfs(session.folder.path),
                trace: run.configuration.trace)
            guard try connection.setPragma("journal_mode", to: "delete")?.text == "delete" else {
                throw leftOpen(store, number)
            }
            guard try StoreMetadata.read(from: connection).hashes == version.hashes else {
                throw FerryError(
                    .stageFailed,
                    "The hook didMigrate of step \(number) left \(store) with a version other than "
                        + "\(version.name). \(run.place.store) is unchanged.",
                    remedy: "Change only rows, then migrate again. The step is repeated.")
            }
        } catch let error as DatabaseError where error.isBusy {
            throw leftOpen(store, number)
        }
        let found = try differences(of: store, step, number).filter { difference in
            !known.contains {
                ($0.check, $0.entity) == (difference.check, difference.entity) && $0.count >= difference.count
            }
        }
        guard found.isEmpty else {
            var summary = VerificationSummary(mode: run.configuration.verification)
            summary.differences = found
            throw FerryError(
                .verificationFailed,
                "The hook didMigrate of step \(number) left \(store) with differences: "
                    + "\(found.map(\.check.rawValue).prefix(5).joined(separator: ", ")). \(run.place.store) is unchanged.",
                remedy: "Correct the hook and migrate again. The step is repeated.",
                cause: VerificationDifferences(summary: summary))
        }
    }

    /// The differences that a verification of the store alone finds; empty without verification.
    private func differences(
        of store: String, _ step: StepPlan, _ number: Int
    ) throws -> [VerificationSummary.Difference] {
        guard run.configuration.verification != .none else { return [] }
        run.relay.begin(.verify, step: number)
        return try run.files.withWorkFolder(named: "stage", in: session.folder.stepFolder(number)) { folder in
            var verification = Verification(
                ofStore: step.resolved.destination, at: store, isNew: false, isImmutable: true, workFolder: folder)
            (verification.jobs, verification.trace, verification.stop) = (
                run.configuration.limits.processors, run.configuration.trace, run.stop
            )
            verification.externalFolder = ExternalData.folder(forStore: run.place.store)
            return try verification.run().differences
        }
    }

    private func leftOpen(_ store: String, _ number: Int) -> FerryError {
        FerryError(
            .stageFailed,
            "The hook didMigrate of step \(number) left \(store) open. \(run.place.store) is unchanged.",
            remedy: "Close it before the hook returns, then migrate again. The step is repeated.")
    }
}
