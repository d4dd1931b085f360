internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// Does the last piece of a run's work and ends the run; an error from after the commit is a warning.
    func finish(
        _ session: RunSession, _ sourceGuard: SourceGuard, after work: () throws -> Void
    ) throws -> MigrationReport {
        do {
            try work()
        } catch {
            session.takeSaved()
            warn(
                try session.recover(
                    from: error, at: place.result, releasing: sourceGuard, trace: configuration.trace))
            removeSideFiles(notIn: sourceGuard.sideFiles)
        }
        return report(ending: session)
    }

    /// Cleans up after a swap: external files that no row names, the log, the run folder.
    ///
    /// The migration has happened: a failure here is a warning, and the next command repeats the work.
    ///
    /// - Returns: The removed external files.
    @discardableResult
    func cleanUp(after session: RunSession) -> MigrationReport.ExternalFiles {
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
        let done = session.finish(at: place.result, ownsExternalFiles: place.ownsExternalFiles)
        meter = relay.endMeasuring()
        for warning in done.warnings { warn(warning) }
        noteTimes(session)
        warnOfMemory(session.head.phases)
        return done.external
    }

    /// Cleans up after a migration, and reports it.
    func report(ending session: RunSession) -> MigrationReport {
        let external = cleanUp(after: session)
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
            let peak = ProcessUse.peakMemory(), peak > limit
        else { return }
        let phase = phases.filter { $0.peakMemory ?? 0 > limit }.min { $0.peakMemory ?? 0 < $1.peakMemory ?? 0 }
        warn(
            FerryWarning(
                .memoryLimitPassed,
                "The process used up to \(peak.counting("byte")) of memory, more than the limit of "
                    + "\(limit.counting("byte"))"
                    + (phase.map { "; it exceeded the limit in phase '\($0.phase.rawValue)'." } ?? ".")))
    }

    private func report(_ head: RunRecord, _ migration: RunRecord.Migration) -> MigrationReport {
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
        report.earlierTime = .clamped(seconds: earlierPhases.map(\.seconds).reduce(0, +))
        report.estimates = estimates
        report.estimates?.wallTimeAfterTenth = meter?.secondsAfterTenth.map { .clamped(seconds: $0) }
        if let meter {
            report.longestUnit = .clamped(nanoseconds: stop.longestUnitNanoseconds)
            report.peakDiskBytes = meter.diskBytes
        }
        report.peakResidentBytes = ProcessUse.peakMemory()
        let own = relay.phases
        report.bytesRead = own.map(\.bytesRead).reduce(0, [PhaseUse].sum)
        report.bytesWritten = own.map(\.bytesWritten).reduce(0, [PhaseUse].sum)
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
