internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify
internal import Foundation

extension MigrationRun {
    /// Verifies a step in the run folder, before the next one.
    func verify(_ run: StepRun, _ number: Int, _ report: StepReport, _ session: MigrationSession) throws {
        var summary = VerificationSummary(mode: .none)
        if configuration.verification != .none {
            relay.begin(.verify, step: number)
            let verification = try verification(
                of: run.step, number, from: run.sourcePath, isPrivate: run.isSourcePrivate, at: run.destinationPath,
                in: run.folder, report, run.options, session)
            summary = try self.summary(of: run.step, by: verification) { try verification.run() }
            releaseUnusedMemory()
            try files.removeTree(verification.workFolder)
            noteTimes(session)
        }
        session.migration.steps[number - 1].verification = summary
    }

    /// Verifies the step that a connection to the store has made, inside its transaction.
    ///
    /// Damaged pages that stay cannot pass, so that a store with such pages is not verified.
    func verify(
        _ step: StepPlan, before connection: Connection, _ report: StepReport, _ options: EngineOptions,
        _ session: MigrationSession
    ) throws {
        let isDamaged = session.migration.findings.warnings.contains { $0.code == .damagedPages }
        if isDamaged || configuration.verification == .none { return }
        relay.begin(.verify, step: 1)
        var verification = try verification(
            of: step, 1, from: place.store, isPrivate: true, at: place.store, in: session.folder.path, report, options,
            session)
        verification.kept = report.kept
        session.migration.steps[0].verification = try summary(of: step, by: verification) {
            try verification.run(before: connection)
        }
        releaseUnusedMemory()
    }

    private func verification(
        of plan: StepPlan, _ number: Int, from source: String, isPrivate: Bool, at destination: String,
        in folder: String, _ report: StepReport, _ options: EngineOptions, _ session: MigrationSession
    ) throws -> Verification {
        let workFolder = folder + "/verify"
        try files.createDirectory(workFolder, mode: 0o700)
        let step = plan.resolved
        var verification = Verification(
            mode: configuration.verification == .full ? .full : .quick,
            of: plan.mode == .inPlace ? .altered : .copied(keeping: plan.keptPart?.roots ?? []), step: step,
            sourcePath: source, isSourcePrivate: isPrivate, destinationPath: destination, workFolder: workFolder,
            counts: report.counts, now: session.migration.now,
            externalFolder: ExternalData.folder(forStore: place.store), policies: report.policies,
            trace: configuration.trace, progress: relay.hook(step: number), stop: stop)
        verification.told = ToldLoss.of(step, reported: number == 1 ? session.migration.findings.toldLosses : nil)
        verification.resumeKey = "\(FerryVersion.tool) \(session.head.id) \(number)"
        verification.memory = memory
        verification.jobs = configuration.limits.processors
        verification.dropping = options.dropping
        verification.valueLimit = options.valueBytes
        verification.dropsMissingContents = options.damaged == .drop
        return verification
    }

    /// - Throws: ``FerryError`` `.verificationFailed` for differences.
    private func summary(
        of plan: StepPlan, by verification: Verification, _ run: () throws -> VerificationSummary
    ) throws -> VerificationSummary {
        let summary = try run()
        guard summary.differences.isEmpty else { throw differs(summary, plan, verification) }
        return summary
    }

    private func differs(
        _ summary: VerificationSummary, _ plan: StepPlan, _ verification: Verification
    ) -> FerryError {
        let kinds = summary.differences.prefix(5).map(\.title)
        let more = summary.differences.count > 5 ? " and \(summary.differences.count - 5) more" : ""
        let version = verification.step.destination.name
        if let refusal = Self.brokenRules(summary, of: version, kinds.joined(separator: ", ") + more) { return refusal }
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
            remedy: plan.mode == .inPlace
                ? "\(ways)Copy every row instead, with \(setting: .executor, .choice("row")) and \(on: .restart), and report this."
                : """
                \(ways)The new store is kept in \(FileLayer.parent(of: verification.destinationPath)) for inspection; \
                \(on: .restart) recreates it.
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
            place: .init(
                entity: summary.differences.first?.entity, property: summary.differences.first?.property),
            cause: VerificationDifferences(summary: summary))
    }
}
