internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import FerryVerify

extension MigrationRun {
    /// Runs, verifies and finishes every step that is not finished yet.
    func runSteps(
        _ plan: MigrationPlan, _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        guard let migration = record.migration else { return }
        for (index, step) in plan.steps.enumerated() {
            let number = index + 1
            try stop.check()
            let run = StepRun(
                step: step, sourcePath: index == 0 ? place.store : destination(ofStep: index, in: folder),
                isSourcePrivate: index > 0, folder: folder.stepFolder(number),
                options: EngineOptions(
                    chunkSize: engineChunkSize, now: migration.now, trace: configuration.trace,
                    progress: relay.hook(step: number), stop: stop, vfs: try vfs(folder.path),
                    externalFolder: ExternalData.folder(forStore: place.store)), policies: inputs.policies)
            if index >= (record.migration?.steps.count ?? 0) {
                record.phase = .rows
                try folder.save(record)
                try files.createDirectory(run.folder)
                let report = try run.run()
                releaseFreedMemory()
                isResumed = isResumed || report.resumed
                chunkTimes.add(report.chunkTimes)
                record.phase = .verify
                try folder.save(record)
                let verification = try verify(run, report, number, migration.now, &record)
                record.add(step, number, report, verification)
                try folder.save(record)
            }
            // What is recorded as verified is not verified again: its progress table may be gone already.
            if record.migration?.steps[index].isFinished == false {
                try run.finish()
                record.migration?.steps[index].isFinished = true
                try folder.save(record)
            }
            if index > 0 { try files.removeTree(folder.stepFolder(index)) }
        }
    }

    /// The file that the last step made.
    func lastDestination(_ record: RunRecord, in folder: RunFolder) -> String {
        destination(ofStep: record.migration?.steps.count ?? 0, in: folder)
    }

    func destination(ofStep number: Int, in folder: RunFolder) -> String {
        folder.stepFolder(number) + "/destination.sqlite"
    }

    private var engineChunkSize: EngineOptions.ChunkSize {
        switch configuration.chunkSize {
        case .rows(let rows): .rows(rows)
        case .automatic: .automatic
        }
    }

    // MARK: Verification

    private func verify(
        _ run: StepRun, _ report: StepReport, _ number: Int, _ now: Double, _ record: inout RunRecord
    ) throws -> VerificationSummary {
        guard configuration.verify != .none else { return VerificationSummary(mode: .none) }
        relay.begin(.verify, step: number)
        let time = Clock.nanoseconds()
        let workFolder = run.folder + "/verify"
        // What a killed verification left.
        try files.removeTree(workFolder)
        try files.createDirectory(workFolder)
        let verification = Verification(
            mode: configuration.verify == .full ? .full : .quick, step: run.step.resolved, sourcePath: run.sourcePath,
            isSourcePrivate: run.isSourcePrivate, destinationPath: run.destinationPath, workFolder: workFolder,
            counts: report.counts, now: now,
            externalFolder: ExternalData.folder(forStore: place.store), policies: report.policies, trace: configuration.trace,
            progress: relay.hook(step: number), stop: stop)
        let found = try verification.run()
        releaseFreedMemory()
        try files.removeTree(workFolder)
        record.spend(seconds(since: time), in: .verify)
        var summary = VerificationSummary(mode: configuration.verify)
        summary.checked = found.checked
        summary.notRecomputed = found.notRecomputed
        summary.differences = found.differences.map {
            .init(check: $0.check, entity: $0.entity, count: $0.count, example: $0.example)
        }
        guard summary.differences.isEmpty else { throw Self.differs(summary, run.step, run.folder) }
        return summary
    }

    private static func differs(_ summary: VerificationSummary, _ step: StepPlan, _ folder: String) -> FerryError {
        let kinds = summary.differences.prefix(5).map { difference in
            "\(difference.check)\(difference.entity.map { " of \($0)" } ?? "") (\(difference.count))"
        }
        let more = summary.differences.count > 5 ? " and \(summary.differences.count - 5) more" : ""
        return FerryError(
            .verificationFailed,
            "The new store of version \(step.resolved.destination.name) is not what the mapping models say: "
                + "\(kinds.joined(separator: ", "))\(more). The store was not changed.",
            remedy: "The new store is kept in \(folder) to be looked at; --restart makes it anew.",
            cause: VerificationDifferences(summary: summary))
    }
}

extension RunRecord {
    mutating func add(
        _ step: StepPlan, _ number: Int, _ report: StepReport, _ verification: VerificationSummary
    ) {
        let executors = Dictionary(
            step.partitions.flatMap(\.entityMappings).map { ($0.mapping.name, $0.executor.rawValue) },
            uniquingKeysWith: { first, _ in first })
        for (phase, nanoseconds) in report.phaseNanoseconds.sorted(by: { $0.key.order < $1.key.order }) {
            spend(Double(nanoseconds) / 1e9, in: phase)
        }
        let mappings = report.counts.map { counts in
            MigrationReport.EntityMappingReport(
                step: number, name: counts.name, source: counts.source, destination: counts.destination,
                executor: executors[counts.name] ?? "set", read: counts.read, created: counts.created,
                written: counts.written, dropped: counts.dropped, merged: counts.merged)
        }
        migration?.steps.append(
            StepRecord(
                isFinished: false, entityMappings: mappings,
                unmapped: report.unmapped.map { .init(step: number, entity: $0.entity, rows: $0.rows) },
                healed: report.healed.map { .init(step: number, kind: $0.kind, entity: $0.entity, rows: $0.rows) },
                chunks: report.chunks, verification: verification))
    }
}

extension Phase {
    /// The place among the phases of a run.
    var order: Int { Phase.allCases.firstIndex(of: self) ?? 0 }
}
