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
    /// Verifies a step in its place: in the run folder before the next one, on the store itself before COMMIT.
    func verify(_ run: StepRun, _ number: Int, _ report: StepReport, _ session: RunSession) throws {
        var summary = VerificationSummary(mode: .none)
        if verifies(run, session) {
            relay.begin(.verify, step: number)
            let verification = try verification(of: run, number, report, session)
            summary =
                switch run.place {
                case .file: try verification.run()
                case .store(let connection): try verification.run(before: connection)
                }
            guard summary.differences.isEmpty else { throw differs(summary, run.step, verification) }
            releaseUnusedMemory()
            try files.removeTree(verification.workFolder)
            noteTimes(session)
        }
        session.migration.steps[number - 1].verification = summary
    }

    private func verifies(_ run: StepRun, _ session: RunSession) -> Bool {
        if configuration.verification == .none { return false }
        guard case .store = run.place else { return true }
        // Damaged pages that stay cannot pass.
        return !session.migration.findings.warnings.contains { $0.code == .damagedPages }
    }

    private func verification(
        of run: StepRun, _ number: Int, _ report: StepReport, _ session: RunSession
    ) throws -> Verification {
        let (source, isPrivate, destination, folder) =
            switch run.place {
            case .file(let file): (file.sourcePath, file.isSourcePrivate, file.destinationPath, file.folder)
            case .store: (place.store, true, place.store, session.folder.path)
            }
        let workFolder = folder + "/verify"
        try files.createDirectory(workFolder, mode: 0o700)
        let (plan, step) = (run.step, run.step.resolved)
        var verification = Verification(
            mode: configuration.verification,
            of: plan.mode == .inPlace ? .altered : .copied(keeping: plan.keptPart?.roots ?? []), step: step,
            sourcePath: source, isSourcePrivate: isPrivate, destinationPath: destination, workFolder: workFolder,
            counts: report.counts, now: session.migration.now,
            externalFolder: ExternalData.folder(forStore: place.store), policies: report.policies,
            trace: configuration.trace, progress: relay.hook(step: number), stop: stop)
        if case .store = run.place { verification.kept = report.kept }
        if number < session.migration.stepCount { verification.fileCheck = .none }
        verification.told = ToldLoss.of(step, reported: number == 1 ? session.migration.findings.toldLosses : nil)
        verification.resumeKey = "\(FerryVersion.tool) \(session.head.id) \(number)"
        verification.memory = memory
        verification.jobs = configuration.limits.processors
        verification.dropping = run.options.dropping
        verification.valueLimit = run.options.valueBytes
        verification.dropsMissingContents = run.options.damaged == .drop
        return verification
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
