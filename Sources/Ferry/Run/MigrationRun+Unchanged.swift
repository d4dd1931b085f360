internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite

extension MigrationRun {
    /// Makes the output from a store with the target version: an exact copy of its content, with its external files.
    func copyUnchanged(
        _ store: OpenedStore, _ target: ModelVersion, folder found: RunFolder?, record known: RunRecord?
    ) throws -> MigrationReport {
        let sourceGuard = store.sourceGuard
        let plan = MigrationPlan(chain: [inputs.catalog.displayName(of: target)], steps: [])
        let begun = try begin(plan, [:], sourceGuard, folder: found, record: known) {
            try checkUnchanged(store, plan, &$0)
        }
        guard let (folder, made) = begun else {
            return try upToDate(sourceGuard, place.result, target, leftover: found, record: known)
        }
        var record = made
        if record.migration?.steps.isEmpty == true { try copy(sourceGuard, &record, folder) }
        return try finish(folder, &record, sourceGuard) { try putInPlace(sourceGuard, &$0, folder) }
    }

    private func checkUnchanged(
        _ store: OpenedStore, _ plan: MigrationPlan, _ folder: inout RunFolder?
    ) throws -> Findings {
        var findings = Findings()
        let damaged = try store.sourceGuard.connection.abandoning(on: stop) { try checkPages(store, &folder) }
        if let first = damaged.first {
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
        if let refusal = try diskNeed(plan, store, [.copy(of: store.contentBytes())]).refusals().first { throw refusal }
        for warning in findings.warnings { relay.send(.warning(warning)) }
        return findings
    }

    private func copy(_ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder) throws {
        record.phase = .rows
        try folder.save(record)
        relay.begin(.rows, step: 1)
        let step = folder.stepFolder(1)
        try files.createDirectory(step, mode: 0o700)
        try files.syncFolder(folder.path)
        let reader = try PageReader(sourceGuard.connection)
        let copy = PageCopy(folder: step, destination: destination(ofStep: 1, in: folder), files: files)
        relay.send(.progress(ProgressUpdate(phase: .rows, subject: "copy of the store")))
        if try !files.exists(copy.destination) { try copy.run(reader, stop: stop) }
        if configuration.verify != .none {
            relay.begin(.verify, step: 1)
            try copy.verify(against: reader, stop: stop)
        }
        noteTimes(&record)
        record.migration?.steps = [
            RunRecord.StepRecord(
                isFinished: true, destination: FileState(try files.attributes(copy.destination)), entityMappings: [],
                unmapped: [], healed: [], leftBehind: [], chunks: 0,
                verification: VerificationSummary(mode: configuration.verify))
        ]
        try folder.save(record)
        stop.unitIsDone()
    }
}

extension MigrationPlan {
    /// The versions that each step passes; the copy of a store with the target version counts as a step.
    var passes: [[String]] { steps.isEmpty ? [chain] : steps.map(\.versions) }
}
