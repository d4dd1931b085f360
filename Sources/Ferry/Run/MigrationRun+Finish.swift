internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// Puts the last step's destination in place; the rename, or COMMIT of the swap, ends the migration.
    ///
    /// `steps` are those of a plan all in place, for a swap that runs them again.
    func putInPlace(
        _ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder, steps: RepeatedSteps? = nil
    ) throws {
        try stop.check()
        record.phase = .swap
        if configuration.holdsSwap {
            try folder.save(record)
            throw FerryError(
                .swapHeld, "Everything is done except the swap: the migrated store is in \(folder.path).",
                remedy: """
                    \(action: .again) without \(setting: .holdsSwap) to swap it in. If \(place.store) changes \
                    before then, start over with \(on: .restart).
                    """)
        }
        relay.begin(.swap)
        let destination = lastDestination(record, in: folder)
        if let output = place.output {
            try record.checkSource(sourceGuard.fingerprint())
            try checkVerified(record, destination)
            try noteExternalFiles(sourceGuard, folder)
            try move(destination, to: output, &record, folder)
            try sourceGuard.close()
        } else {
            try Swap(
                sourceGuard: sourceGuard, destination: destination, folder: folder, memory: memory,
                largestLogged: configuration.largestLoggedSwap, stop: stop, progress: relay.hook(),
                trace: configuration.trace, steps: steps,
                checkDestination: { [record] in try self.checkVerified(record, destination) },
                checkSnapshot: { [record] in try self.checkSnapshot(record, folder) }
            ).run(&record)
        }
        noteTimes(&record)
    }

    /// Moves a verified destination to the output, where no file exists; the source store stays unchanged.
    private func move(
        _ destination: String, to output: String, _ record: inout RunRecord, _ folder: RunFolder
    ) throws {
        try removeEmptyJournals(of: destination, files: files)
        let external = ExternalFiles(store: output, files: files)
        // External files that only the old store needs are deleted with the run folder.
        if place.ownsExternalFiles {
            try external.add(from: ExternalData.folder(forStore: place.store), onDifference: .refuses)
        }
        try external.add(from: ExternalData.folder(forStore: destination), onDifference: .refuses)
        for path in StoreFileNames(output).all where try files.exists(path) {
            throw FerryError(
                .outputExists, "\(path) appeared during the migration.",
                remedy: "Move it away and \(action: .again). Everything else is finished.")
        }
        record.swap = .place(SwapIntent.Place(ofOutput: try files.attributes(destination)))
        try folder.save(record)
        try files.renameToFree(destination, to: output)
        try files.syncFolder(FileLayer.parent(of: output))
    }

    /// Notes the external files that the store names, while it still exists.
    func noteExternalFiles(_ sourceGuard: SourceGuard, _ folder: RunFolder) throws {
        guard place.ownsExternalFiles else { return }
        try ExternalFiles(store: place.store, files: files)
            .noteNames(on: sourceGuard.connection, workFolder: folder.path)
    }

    /// Cleans up after a swap: external files that no row names, the log, the run folder.
    ///
    /// The migration has happened: a failure here is a warning, and the next command repeats the work. If some work
    /// after the swap has failed already, this call cleans up nothing.
    ///
    /// - Returns: The report; nil for the record of a rollback.
    func finish(
        _ folder: RunFolder, _ record: RunRecord, after problem: (any Error)? = nil
    ) -> MigrationReport? {
        // Before the folder is removed, into which the orders' files would come.
        control?.end()
        relay.begin(.cleanUp)
        var record = record
        record.phase = .cleanUp
        if let output = place.output {
            // After the rename: an earlier change would differ from the verified file.
            do {
                try files.copyMetadata(from: place.store, to: output)
                try files.syncFile(output)
                record.output = FileState(try files.attributes(output))
            } catch {
                warn(
                    FerryWarning(
                        .permissionsNotSet,
                        "The permissions of \(place.store) could not be set on \(output): \(FerryError.wrapping(error, on: output).message)",
                        about: .init(path: output)))
            }
        }
        let done = folder.finish(
            record, at: place.result, ownsExternalFiles: place.ownsExternalFiles, after: problem)
        relay.measure(by: nil)
        for warning in done.warnings { warn(warning) }
        noteTimes(&record)
        warnOfMemory(record.phases)
        guard let migration = record.migration else { return nil }
        var report = report(record, migration)
        report.externalFiles = done.external
        report.warnings += warnings
        relay.send(.finished(report))
        return report
    }

    /// Says so if this call made the process pass its memory limit.
    private func warnOfMemory(_ phases: [PhaseUse]) {
        let limit = Int64(configuration.memoryLimit)
        // Of a process that had passed the limit before, an app for example, nothing can be said.
        guard let before = peakBefore, before <= limit,
            let peak = ProcessUse.peakMemory(files: FileLayer()), peak > limit
        else { return }
        let phase = phases.filter { $0.peakMemory ?? 0 > limit }.min { $0.peakMemory ?? 0 < $1.peakMemory ?? 0 }
        warn(
            FerryWarning(
                .memoryLimitPassed,
                "The process used up to \(peak.counting("byte")) of memory, more than the limit of "
                    + "\(limit.counting("byte"))"
                    + (phase.map { "; it exceeded the limit in phase '\($0.phase.rawValue)'." } ?? ".")))
    }

    private func report(_ record: RunRecord, _ migration: RunRecord.Migration) -> MigrationReport {
        var report = MigrationReport(
            outcome: migration.chain.count > 1 ? .migrated : .copied, store: Self.url(place.result),
            from: migration.from, to: migration.to,
            chain: migration.chain, mode: migration.isInPlace ? .inPlace : .copy)
        report.entityMappings = migration.steps.flatMap(\.entityMappings)
        report.unmapped = migration.steps.flatMap(\.unmapped)
        report.healed = migration.findings.healed + migration.steps.flatMap(\.healed)
        report.kept = migration.findings.kept
        report.leftovers = migration.leftovers
        report.droppedObjects = migration.findings.droppedObjects
        report.repaired = repaired
        report.layoutStore = migration.layoutStore.map(Self.url)
        report.warnings = migration.findings.warnings
        report.losses = migration.findings.losses(countedBy: report.entityMappings)
        report.chunks.count = migration.steps.map(\.chunks).clampedSum
        report.chunks.median = chunkTimes.percentile(0.5).map { .clamped(nanoseconds: $0) }
        report.chunks.percentile90 = chunkTimes.percentile(0.9).map { .clamped(nanoseconds: $0) }
        if chunkTimes.count > 0 { report.chunks.longest = .clamped(nanoseconds: chunkTimes.longest) }
        report.resumed = isResumed
        report.wallTime = time(since: start)
        report.earlierTime = .clamped(seconds: earlierSeconds)
        report.estimates = estimates
        report.estimates?.wallTimeAfterTenth = meter?.secondsAfterTenth.map { .clamped(seconds: $0) }
        if let meter {
            report.longestUnit = .clamped(nanoseconds: stop.longestUnitNanoseconds)
            report.peakDiskBytes = meter.diskBytes
        }
        report.peakResidentBytes = ProcessUse.peakMemory(files: files)
        if let before = bytesBefore, let now = ProcessUse.now(files: files) {
            report.bytesRead = now.read - before.read
            report.bytesWritten = now.written - before.written
        }
        report.freed = record.freed
        report.snapshot = record.snapshot.map(Self.url)
        var verification = VerificationSummary(mode: migration.options.verify)
        for step in migration.steps.compactMap(\.verification) {
            verification.checked += step.checked
            verification.isBeforeCommit = verification.isBeforeCommit || step.isBeforeCommit
            verification.notRecomputed += step.notRecomputed
        }
        report.verification = verification
        report.phases = record.phases.map { use in
            MigrationReport.PhaseTime(
                use, rows: rows(of: use.phase, report),
                bytes: use.phase == .snapshot ? record.snapshotBytes : nil)
        }
        return report
    }

    /// The rows of a phase; nil if they were not counted, or if the phase reads no rows.
    private func rows(of phase: Phase, _ report: MigrationReport) -> Int64? {
        guard report.entityMappings.allSatisfy({ $0.isEstimated != true }) else { return nil }
        switch phase {
        case .preflight, .snapshot, .cleanUp: return nil
        case .rows: return report.entityMappings.map(\.read).clampedSum
        case .relationships, .indexes, .swap: return report.entityMappings.map(\.written).clampedSum
        case .verify: return report.verification.checked
        }
    }
}

extension RunRecord.Migration {
    /// Leftovers of earlier versions, and whether they are kept; only a migration in place can keep them.
    fileprivate var leftovers: [MigrationReport.Leftover] {
        let lost = Set(steps.flatMap(\.leftBehind))
        return findings.leftovers.map { leftover in
            var leftover = leftover
            leftover.isKept = isInPlace && !lost.contains(leftover.name)
            return leftover
        }
    }
}

extension MigrationRun {
    /// The record of a run whose new store is in place, or the error, if that is not certain.
    func done(despite error: any Error, _ folder: RunFolder, _ sourceGuard: SourceGuard) throws -> RunRecord {
        guard var record = folder.record else { throw error }
        do {
            // The guard may hold an exclusive lock on the store.
            if place.output == nil { sourceGuard.release() } else { try sourceGuard.close() }
            guard try isDone(&record, folder) else { throw error }
        } catch _ {
            // If the store cannot be read, the swap counts as not done.
            throw error
        }
        return record
    }

    /// Does the last piece of a run's work and ends the run; the report has an error from after the commit.
    func finish(
        _ folder: RunFolder, _ record: inout RunRecord, _ sourceGuard: SourceGuard,
        after work: (inout RunRecord) throws -> Void
    ) throws -> MigrationReport {
        var problem: (any Error)?
        do {
            try work(&record)
        } catch {
            record = try done(despite: error, folder, sourceGuard)
            problem = error
        }
        guard let report = finish(folder, record, after: problem) else {
            throw FerryError(.internalError, "The record of the run lacks the migration.")
        }
        return report
    }

    private func isDone(_ record: inout RunRecord, _ folder: RunFolder) throws -> Bool {
        guard record.isUnfinishedInPlace else {
            guard record.swap != nil else { return false }
            return try folder.recover(&record, at: place.result, trace: configuration.trace)
        }
        // This check is first, since opening a store in WAL mode makes side files.
        guard let target = record.migration?.to, record.isCommitted(to: target) else { return false }
        let hashes = try OpenedStore.reading(place.store, files: files, sideFiles: record.sideFiles) {
            $0.metadata.hashes
        }
        return try hashes == inputs.catalog.version(named: target).hashes
    }
}
