internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite

extension MigrationRun {
    /// Makes the output from a store with the target version: an exact copy of its content, with its external files.
    func copyUnchanged(
        _ store: OpenedStore, _ target: ModelVersion, folder found: RunFolder?, known: RunSession?
    ) throws -> MigrationReport {
        let sourceGuard = store.sourceGuard
        let plan = MigrationPlan(chain: [inputs.catalog.displayName(of: target)], steps: [])
        let begun = try begin(plan, record(plan), sourceGuard, folder: found, known: known) {
            try checkUnchanged(store, plan)
        }
        guard let session = begun else {
            return try upToDate(sourceGuard, target, leftover: found, isUnfinished: known != nil)
        }
        if session.migration.steps.isEmpty {
            try copyPages(session, sourceGuard)
        }
        return try finish(session, sourceGuard) { try swap(session, sourceGuard) }
    }

    private func copyPages(_ session: RunSession, _ sourceGuard: SourceGuard) throws {
        session.head.phase = .rows
        try session.save()
        relay.begin(.rows, step: 1)
        let step = session.folder.stepFolder(1)
        try files.createDirectory(step, mode: 0o700)
        try files.syncFolder(session.folder.path)
        let copy = PageCopy(folder: step, destination: session.destination(ofStep: 1), files: files)
        if try !files.exists(copy.destination) {
            try copy.run(ofStepAfter: nil, sourceGuard, engineOptions(session.migration, step: 1))
        }
        if configuration.verification != .none {
            relay.begin(.verify, step: 1)
            try copy.verify(against: PageReader(sourceGuard.connection), stop: stop)
        }
        session.migration.steps = [
            RunRecord.StepRecord(
                isFinished: true, destination: FileState(try files.attributes(copy.destination)), entityMappings: [],
                unmapped: [], healed: [], leftBehind: [], chunks: 0,
                verification: VerificationSummary(mode: configuration.verification))
        ]
        try saveWithTimes(session)
        stop.unitIsDone()
    }

    private func checkUnchanged(_ store: OpenedStore, _ plan: MigrationPlan) throws -> Findings {
        var findings = Findings()
        if let first = try store.sourceGuard.connection.damagedPages().first {
            let what = "The file \(place.store) is damaged: \(first)."
            guard configuration.damaged == .keep else {
                throw FerryError(
                    .storeDamaged, "\(what) A copy would be damaged as well.",
                    remedy:
                        "Restore a backup or a snapshot, or copy it as it is with \(setting: .damaged, .choice("keep"))."
                )
            }
            findings.warnings.append(
                FerryWarning(.damagedPages, "\(what) So is the copy.", about: .init(path: place.store)))
        }
        if let refusal = try diskNeed(plan, store, [(0, store.contentBytes())]).refusals().first {
            throw refusal
        }
        for warning in findings.warnings { relay.send(.warning(warning)) }
        return findings
    }
}

extension MigrationPlan {
    /// The versions that each step passes; the copy of a store with the target version counts as a step.
    var passes: [[String]] { steps.isEmpty ? [chain] : steps.map(\.versions) }
}
