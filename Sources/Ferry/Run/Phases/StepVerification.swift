internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify
internal import Foundation

/// The verification of each step: before the next step, or beside it.
struct StepVerification: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession

    func verify(_ run: any StepWork, _ number: Int) throws {
        var summary = VerificationSummary(mode: .none)
        if configuration.verify != .none {
            relay.begin(.verify, step: number)
            let verification = try verification(of: run, number, progress: relay.hook(step: number))
            summary = try Self.summary(of: verification)
            releaseUnusedMemory()
            try files.removeTree(verification.workFolder)
            noteTimes()
        }
        migration.steps[number - 1].verification = summary
    }

    /// Verifies the step in place whose transaction on the store itself is being committed, against the store before it.
    func verifyBeforeCommit(_ step: StepPlan, _ options: EngineOptions) throws {
        relay.begin(.verify, step: 1)
        // The transaction has the exclusive lock.
        let run = StepRun(
            step: step, sourcePath: place.store, isSourcePrivate: true, folder: folder.path, options: options)
        // A killed call leaves its own.
        let places = folder.path + "/journaled"
        try files.removeIfPresent(places)
        let pages = try JournaledPages(
            ofJournal: StoreFileNames(place.store).journal, places: places, files: files)
        var verification = try verification(of: run, 1, progress: relay.hook(step: 1))
        verification.destinationPath = place.store
        verification.sourceVFS = try VFS(temporaryFolder: nil, for: .readingBefore(pages))
        // The transaction of a later call is another one.
        verification.resumeKey = nil
        let summary = try Self.summary(of: verification)
        try files.removeTree(verification.workFolder)
        migration.steps[0].verification = summary
        releaseUnusedMemory()
    }

    private func verification(
        of run: any StepWork, _ number: Int, progress: @escaping ProgressHook
    ) throws -> Verification {
        let made = migration.steps[number - 1]
        let workFolder = run.folder + "/verify"
        try files.createDirectory(workFolder, mode: 0o700)
        // Verification must treat rows that a step in place deletes first like rows that a copy leaves out.
        let dropsRows = number == 1 && configuration.damaged == .drop && run.step.mode == .inPlace
        let step = dropsRows ? run.step.resolved.droppingEmptyMandatoryValues() : run.step.resolved
        var verification = Verification(
            mode: configuration.verify == .full ? .full : .quick,
            of: run.step.mode == .inPlace ? .altered : .copied(keeping: run.step.keptPart?.roots ?? []),
            step: step, sourcePath: run.sourcePath, isSourcePrivate: run.isSourcePrivate,
            destinationPath: run.destinationPath, workFolder: workFolder,
            counts: made.entityMappings.map(EntityMappingCounts.init), now: migration.now,
            externalFolder: ExternalData.folder(forStore: place.store),
            policies: made.policies ?? PolicyEvidence(), trace: configuration.trace, progress: progress, stop: stop)
        verification.told = ToldLoss.of(step, reported: number == 1 ? migration.findings.toldLosses : nil)
        verification.resumeKey = "\(FerryVersion.tool) \(head.id) \(number)"
        verification.memory = memory
        verification.jobs = configuration.jobs
        verification.dropping = run.options.dropping
        verification.valueLimit = run.options.valueBytes
        verification.dropsMissingContents = run.options.damaged == .drop
        return verification
    }

    /// - Throws: ``FerryError`` `.verificationFailed` for differences.
    private static func summary(of verification: Verification) throws -> VerificationSummary {
        let summary = try verification.run()
        guard summary.differences.isEmpty else { throw differs(summary, verification) }
        return summary
    }

    private static func differs(_ summary: VerificationSummary, _ verification: Verification) -> FerryError {
        let kinds = summary.differences.prefix(5).map(\.title)
        let more = summary.differences.count > 5 ? " and \(summary.differences.count - 5) more" : ""
        let version = verification.step.destination.name
        if let refusal = brokenRules(summary, of: version, kinds.joined(separator: ", ") + more) { return refusal }
        // Differences that follow from the mapping models can only be corrected in them.
        let ways =
            summary.differences.contains { $0.check == .sharedFiles }
            ? "If two values refer to one external file, clear \"Allows External Storage\" for one of their attributes in "
                + "\(version), or make sure that no two rules use the same value. "
            : ""
        return FerryError(
            .verificationFailed,
            "The new store of version \(version) does not match the mapping models: "
                + "\(kinds.joined(separator: ", "))\(more). The store was not changed.",
            remedy: verification.sourceVFS != nil
                ? "\(ways)Migrate to a new store with \(setting: .output) to inspect it."
                : """
                \(ways)The new store is kept in \(FileLayer.parent(of: verification.destinationPath)) for inspection; \
                \(on: .restarts) recreates it.
                """,
            cause: VerificationDifferences(summary: summary))
    }

    /// The refusal of objects that break rules of the new version and have no other difference: their values are those of
    /// the mapping models.
    private static func brokenRules(
        _ summary: VerificationSummary, of version: String, _ list: String
    ) -> FerryError? {
        guard summary.differences.allSatisfy({ $0.check == .constraints }) else { return nil }
        let example = summary.differences.first?.example.map { ", such as \($0)" } ?? ""
        return FerryError(
            .mandatoryValue,
            "Objects of the new store break rules of version \(version): \(list)\(example). The store was not changed.",
            remedy: "Give them values in the mapping models, leave them out, or relax the rules in the model.",
            place: .init(entity: summary.differences.first?.entity),
            cause: VerificationDifferences(summary: summary))
    }

    // MARK: Beside the next step

    func verifyBeside(_ run: any StepWork, _ number: Int) throws -> VerificationBeside {
        let isShown = Locked(false)
        let hook = relay.hook(step: number)
        var verification = try verification(of: run, number) { update in
            if isShown.withLock({ $0 }) { hook(update) }
        }
        if let shares = memory.besideEachOther { verification.memory = shares.verification }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        verification.jobs = max(1, min(configuration.jobs ?? processors, processors - 1))
        verification.isBeside = true
        return try VerificationBeside(of: number, isShown: isShown, stop: stop) { [verification] in
            try Self.summary(of: verification)
        }
    }

    /// Waits for the verification beside the completed step, if there is one, and records its result.
    ///
    /// - Throws: The verification's error; if it found differences, the next step's files are deleted.
    func end(_ beside: inout VerificationBeside?) throws {
        guard let verification = beside else { return }
        beside = nil
        let number = verification.number
        relay.begin(.verify, step: number)
        do {
            try keep(verification.wait(), of: number)
        } catch let error as FerryError where error.code == .verificationFailed {
            try discard(after: number)
            throw error
        }
        releaseUnusedMemory()
        stop.unitIsDone()
    }

    /// Records the verification of a step, and removes the files that it needed.
    func keep(_ summary: VerificationSummary, of number: Int) throws {
        migration.steps[number - 1].verification = summary
        try saveWithTimes()
        try files.removeTree(folder.stepFolder(number) + "/verify")
        if number > 1 { try files.removeTree(folder.stepFolder(number - 1)) }
    }

    /// Deletes the step after one whose verification found differences.
    func discard(after number: Int) throws {
        try files.removeTree(folder.stepFolder(number + 1))
    }
}

extension EntityMappingCounts {
    fileprivate init(_ report: MigrationReport.EntityMappingReport) {
        self.init(name: report.name, source: report.source, destination: report.destination)
        (read, created, written) = (report.read, report.created, report.written)
        (dropped, merged, isEstimated) = (report.dropped, report.merged, report.isEstimated)
    }
}

extension MigrationRun {
    /// Whether a step is verified while the next reads its destination: between two copies that file does not change.
    func verifiesBesideNext(_ plan: MigrationPlan, _ number: Int) -> Bool {
        verifiesBeside && number < plan.steps.count
            && plan.steps[number - 1..<number + 1].allSatisfy { $0.mode == .copy }
    }

    /// Whether another processor is available, and the disk has room for three stores at one time.
    ///
    /// Never with a hook, which needs a verified step, nor for a small store, which is not worth a thread.
    func canVerifyBeside(
        _ plan: MigrationPlan, _ store: OpenedStore, _ steps: [StepEstimates.Step]
    ) throws -> Bool {
        guard configuration.verify != .none, !configuration.hasStages, plan.steps.count > 1,
            ProcessInfo.processInfo.activeProcessorCount > 1, memory.besideEachOther != nil,
            try store.contentBytes() >= configuration.thresholds.leastVerifiedBeside
        else { return false }
        return try diskNeed(plan, store, steps, stores: 3).refusals().isEmpty
    }
}
