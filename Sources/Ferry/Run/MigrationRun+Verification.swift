internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore
internal import FerryVerify
internal import Foundation

/// The verification of each step: before the next one, or beside it.
extension MigrationRun {
    /// Verifies a step that is made.
    func verify(_ run: any StepWork, _ number: Int, _ record: inout RunRecord) throws {
        var summary = VerificationSummary(mode: .none)
        if configuration.verify != .none {
            relay.begin(.verify, step: number)
            let verification = try verification(of: run, number, record, progress: relay.hook(step: number))
            summary = try Self.summary(of: verification, configuration.verify)
            releaseUnusedMemory()
            try files.removeTree(verification.workFolder)
            noteTimes(&record)
        }
        record.migration?.steps[number - 1].verification = summary
    }

    private func verification(
        of run: any StepWork, _ number: Int, _ record: RunRecord, progress: @escaping ProgressHook
    ) throws -> Verification {
        guard let migration = record.migration else { preconditionFailure("a step is that of a migration") }
        let made = migration.steps[number - 1]
        let workFolder = run.folder + "/verify"
        try files.createDirectory(workFolder, mode: 0o700)
        // What a step in place has deleted first is to be missed as what a copy leaves out.
        let dropsRows = number == 1 && configuration.damaged == .drop && run.step.mode == .inPlace
        let step = dropsRows ? run.step.resolved.droppingEmptyMandatoryValues() : run.step.resolved
        var verification = Verification(
            mode: configuration.verify == .full ? .full : .quick, step: step, sourcePath: run.sourcePath,
            isSourcePrivate: run.isSourcePrivate, destinationPath: run.destinationPath, workFolder: workFolder,
            counts: made.entityMappings.map(EntityMappingCounts.init), now: migration.now,
            isInPlace: run.step.mode == .inPlace, externalFolder: ExternalData.folder(forStore: place.store),
            policies: made.policies ?? PolicyEvidence(), trace: configuration.trace, progress: progress, stop: stop)
        verification.resumeKey = "\(FerryVersion.tool) \(record.id) \(number)"
        verification.memory = configuration.memory
        verification.jobs = configuration.jobs
        verification.dropping = run.options.dropping
        verification.valueLimit = run.options.valueBytes
        verification.dropsMissingContents = run.options.damaged == .drop
        return verification
    }

    /// - Throws: ``FerryError`` `.verificationFailed` for differences.
    private static func summary(
        of verification: Verification, _ mode: Configuration.VerifyMode
    ) throws -> VerificationSummary {
        var summary = VerificationSummary(try verification.run())
        summary.mode = mode
        guard summary.differences.isEmpty else { throw differs(summary, verification) }
        return summary
    }

    private static func differs(_ summary: VerificationSummary, _ verification: Verification) -> FerryError {
        let kinds = summary.differences.prefix(5).map { difference in
            "\(difference.check)\(difference.entity.map { " of \($0)" } ?? "") (\(difference.count))"
        }
        let more = summary.differences.count > 5 ? " and \(summary.differences.count - 5) more" : ""
        let version = verification.step.destination.name
        // What the rules themselves lead to is made right in them.
        let ways =
            summary.differences.contains { $0.check == .sharedFiles }
            ? "Where two values name one external file, take \"Allows External Storage\" from one of their attributes in "
                + "\(version), or let no two rules take one value. "
            : ""
        return FerryError(
            .verificationFailed,
            "The new store of version \(version) is not what the mapping models say: "
                + "\(kinds.joined(separator: ", "))\(more). The store was not changed.",
            remedy: """
                \(ways)The new store is kept in \(FileLayer.parent(of: verification.destinationPath)) to be looked at; \
                \(on: .restart) makes it anew.
                """,
            cause: VerificationDifferences(summary: summary))
    }

    // MARK: Beside the next step

    /// Whether a step is verified while the next one reads what it has made: both are copies then, so that its file does
    /// not change any more.
    func verifiesBesideNext(_ plan: MigrationPlan, _ number: Int) -> Bool {
        verifiesBeside && number < plan.steps.count
            && plan.steps[number - 1..<number + 1].allSatisfy { $0.mode == .copy }
    }

    /// Whether there is a processor more, and the disk has room for the three stores that there are meanwhile.
    ///
    /// A hook sees no step that is not verified; and small stores are not worth a thread.
    func canVerifyBeside(_ plan: MigrationPlan, _ store: OpenedStore, scratch: [Int64]) throws -> Bool {
        guard configuration.verify != .none, !configuration.hasStages, plan.steps.count > 1,
            ProcessInfo.processInfo.activeProcessorCount > 1, configuration.memory.besideEachOther != nil,
            try store.contentBytes() >= configuration.leastVerifiedBeside
        else { return false }
        return try diskNeed(plan, store, scratch: scratch, stores: 3).refusals().isEmpty
    }

    /// Begins to verify a step that is finished, on a thread of its own.
    func verifyBeside(_ run: any StepWork, _ number: Int, _ record: RunRecord) throws -> VerificationBeside {
        let isShown = Locked(false)
        let hook = relay.hook(step: number)
        var verification = try verification(of: run, number, record) { update in
            if isShown.withLock({ $0 }) { hook(update) }
        }
        if let shares = configuration.memory.besideEachOther { verification.memory = shares.verification }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        verification.jobs = max(1, min(configuration.jobs ?? processors, processors - 1))
        let mode = configuration.verify
        return try VerificationBeside(of: number, isShown: isShown, stop: stop) { [verification] in
            try Self.summary(of: verification, mode)
        }
    }

    /// Waits for the verification beside the step that is made by now, if there is one, and records it.
    ///
    /// - Throws: What the verification throws; what was made of a step with differences is gone then.
    func end(_ beside: inout VerificationBeside?, _ record: inout RunRecord, _ folder: RunFolder) throws {
        guard let verification = beside else { return }
        beside = nil
        let number = verification.number
        relay.begin(.verify, step: number)
        do {
            let found = try verification.wait()
            record.migration?.steps[number - 1].verification = found
        } catch {
            if verification.difference() != nil { try discard(after: number, folder) }
            throw error
        }
        releaseUnusedMemory()
        noteTimes(&record)
        try folder.save(record)
        try files.removeTree(folder.stepFolder(number) + "/verify")
        if number > 1 { try files.removeTree(folder.stepFolder(number - 1)) }
        stop.unitIsDone()
    }

    /// Removes what was made of a step that turned out to be wrong.
    func discard(after number: Int, _ folder: RunFolder) throws {
        try files.removeTree(folder.stepFolder(number + 1))
    }
}

/// A verification on a thread of its own.
final class VerificationBeside: Sendable {
    /// Of the step that is verified.
    let number: Int
    /// Whether its progress is told: a run shows one phase at a time.
    private let isShown: Locked<Bool>
    private let outcome = Locked<Result<VerificationSummary, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    /// Begins it; where it fails, what is at work beside it is asked to stop.
    init(
        of number: Int, isShown: Locked<Bool>, stop: StopRequest,
        _ verify: @escaping @Sendable () throws -> VerificationSummary
    ) throws {
        self.number = number
        self.isShown = isShown
        try WorkThread.start("ferry.beside") { [self] in
            let result = Result { try verify() }
            if case .failure(let error) = result { stop.request(FerryError.wrapping(error, on: "step \(number)")) }
            outcome.withLock { $0 = result }
            done.signal()
        }
    }

    /// Waits for its end, and shows how far it is meanwhile.
    func wait() throws -> VerificationSummary {
        isShown.withLock { $0 = true }
        return try result.get()
    }

    /// Waits for its end.
    ///
    /// - Returns: The error that says in what the new store differs; nil where no difference was found.
    func difference() -> FerryError? {
        guard case .failure(let error as FerryError) = result, error.code == .verificationFailed else { return nil }
        return error
    }

    private var result: Result<VerificationSummary, any Error> {
        done.wait()
        defer { done.signal() }
        guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("signalled with its outcome") }
        return outcome
    }
}

extension EntityMappingCounts {
    /// What a run has recorded of a mapping.
    fileprivate init(_ report: MigrationReport.EntityMappingReport) {
        self.init(name: report.name, source: report.source, destination: report.destination)
        (read, created, written) = (report.read, report.created, report.written)
        (dropped, merged, isEstimated) = (report.dropped, report.merged, report.isEstimated)
    }
}
