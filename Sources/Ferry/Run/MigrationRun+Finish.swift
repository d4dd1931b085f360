internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// Does the last piece of a run's work and ends the run; the report has an error from after the commit.
    func finish(
        _ session: MigrationSession, _ sourceGuard: SourceGuard, after work: () throws -> Void
    ) throws -> MigrationReport {
        var problem: (any Error)?
        do {
            try work()
        } catch {
            if try requireDone(session, sourceGuard, despite: error) {
                warn(.recovered(from: error, on: place.result))
            } else {
                problem = error
            }
        }
        return report(ending: session, after: problem)
    }

    /// Takes the record of a run whose new store is in place, or throws the error, if that is not certain.
    ///
    /// - Returns: Whether the store is as the run leaves it, so that this call can clean up.
    private func requireDone(
        _ session: MigrationSession, _ sourceGuard: SourceGuard, despite error: any Error
    ) throws -> Bool {
        guard session.takeSaved() else { throw error }
        do {
            // The guard may hold an exclusive lock on the store.
            if place.output == nil { sourceGuard.release() } else { try sourceGuard.close() }
            guard let isRecovered = try recovered(session) else { throw error }
            return isRecovered
        } catch _ {
            // If the store cannot be read, the swap counts as not done.
            throw error
        }
    }

    /// Returns whether the store could be recovered; nil if it is the old one.
    private func recovered(_ session: MigrationSession) throws -> Bool? {
        guard session.isUnfinishedInPlace else {
            guard session.head.swap != nil else { return nil }
            return try session.recover(at: place.result, trace: configuration.trace) ? true : nil
        }
        // This check is first, since opening a store in WAL mode makes side files.
        let target = session.migration.to
        guard session.isCommitted(to: target) else { return nil }
        var isRecovered = true
        do {
            // The error may have left a hot journal: that of COMMIT, or of a change of the journal mode after it.
            _ = try session.recover(at: place.store, trace: configuration.trace)
        } catch {
            isRecovered = false
        }
        let hashes = try OpenedStore.reading(place.store, files: files, sideFiles: session.head.sideFiles) {
            $0.metadata.hashes
        }
        return try hashes == inputs.catalog.version(named: target).hashes ? isRecovered : nil
    }

    /// Cleans up after a swap: external files that no row names, the log, the run folder.
    ///
    /// The migration has happened: a failure here is a warning, and the next command repeats the work. If some work
    /// after the swap has failed already, this call cleans up nothing.
    ///
    /// - Returns: The removed external files.
    @discardableResult
    func cleanUp(
        after session: any RunSession, despite problem: (any Error)? = nil
    ) -> MigrationReport.ExternalFiles {
        // Before the folder is removed, into which the orders' files would come.
        control?.end()
        relay.begin(.cleanUp)
        session.head.phase = .cleanUp
        if let output = place.output {
            // After the rename: an earlier change would differ from the verified file.
            do {
                try files.copyMetadata(from: place.store, to: output)
                try files.syncFile(output)
                session.head.output = FileState(try files.attributes(output))
            } catch {
                warn(
                    FerryWarning(
                        .permissionsNotSet,
                        "The permissions of \(place.store) could not be set on \(output): \(FerryError.wrapping(error, on: output).message)",
                        about: .init(path: output)))
            }
        }
        let done = session.finish(
            at: place.result, ownsExternalFiles: place.ownsExternalFiles, after: problem)
        relay.measure(by: nil)
        for warning in done.warnings { warn(warning) }
        noteTimes(session)
        warnOfMemory(session.head.phases)
        return done.external
    }

    /// Cleans up after a migration, and reports it.
    func report(ending session: MigrationSession, after problem: (any Error)? = nil) -> MigrationReport {
        let external = cleanUp(after: session, despite: problem)
        var report = report(session.head, session.migration)
        report.externalFiles = external
        report.warnings += warnings
        relay.send(.finished(report))
        return report
    }

    /// Says so if this call made a process that runs nothing but Ferry pass its memory limit.
    private func warnOfMemory(_ phases: [PhaseUse]) {
        let limit = Int64(configuration.limits.memory)
        // Of a process that had passed the limit before, with another store for example, nothing can be said.
        guard configuration.ownsProcess, let before = peakBefore, before <= limit,
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

    private func report(_ head: RunHead, _ migration: RunRecord.Migration) -> MigrationReport {
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
        report.transformed = migration.findings.transformed
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
        report.snapshot = head.snapshot.map(Self.url)
        let isSkipped = migration.steps.contains { $0.verification?.mode == VerifyMode.none }
        var verification = VerificationSummary(mode: isSkipped ? .none : migration.options.verify)
        for step in migration.steps.compactMap(\.verification) {
            verification.checked += step.checked
            verification.notRecomputed += step.notRecomputed
        }
        report.verification = verification
        report.phases = head.phases.map { use in
            MigrationReport.PhaseTime(
                use, rows: rows(of: use.phase, report),
                bytes: use.phase == .snapshot ? head.snapshotBytes : nil)
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
