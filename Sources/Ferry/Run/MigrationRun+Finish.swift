internal import FerryBase
internal import FerryEngine
internal import FerryModel
internal import FerryStore
internal import Foundation

extension MigrationRun {
    /// Puts the last step's destination where it belongs; from the rename on, the migration has happened.
    func putInPlace(_ sourceGuard: SourceGuard, _ record: inout RunRecord, _ folder: RunFolder) throws {
        try stop.check()
        record.phase = .swap
        if configuration.holdsSwap {
            try folder.save(record)
            throw swapHeld(in: folder)
        }
        relay.begin(.swap)
        let destination = lastDestination(record, in: folder)
        if let output = place.output {
            try record.checkSource(sourceGuard.fingerprint())
            try checkVerified(record, destination)
            try noteExternalFiles(sourceGuard, folder)
            var current = record
            try Placement(
                source: place.store, destination: destination, output: output,
                ownsExternalFiles: place.ownsExternalFiles, files: files
            ) { intent in
                current.swap = intent
                try folder.save(current)
            }.run()
            record = current
            try sourceGuard.close()
        } else {
            try Swap(
                sourceGuard: sourceGuard, destination: destination, folder: folder, files: files,
                memory: configuration.memory, largestLogged: configuration.largestLoggedSwap, stop: stop,
                progress: relay.hook(), trace: configuration.trace,
                checkDestination: { [record] in try self.checkVerified(record, destination) }
            ).run(&record)
        }
        noteTimes(&record)
    }

    /// Notes which external files the store names as long as it can be asked.
    func noteExternalFiles(_ sourceGuard: SourceGuard, _ folder: RunFolder) throws {
        guard place.ownsExternalFiles else { return }
        try ExternalFiles(store: place.store, files: files)
            .noteNames(on: sourceGuard.connection, workFolder: folder.path)
    }

    /// Cleans up behind a swap: external files that no row names, the log, the run folder.
    ///
    /// The migration has happened: what fails here is a warning, and left to the next command.
    ///
    /// - Parameters:
    ///   - folder: The run folder.
    ///   - record: The run.
    ///   - problem: What has failed behind the swap already; then nothing is cleaned up.
    /// - Returns: The report; nil when the record is that of a rollback.
    func finish(
        _ folder: RunFolder, _ record: RunRecord, after problem: (any Error)? = nil
    ) -> MigrationReport? {
        relay.begin(.cleanUp)
        var record = record
        record.phase = .cleanUp
        if let output = place.output {
            // Behind the rename: until then any change to the file would be one to what was verified.
            do {
                try files.copyMetadata(from: place.store, to: output)
                try files.syncFile(output)
                record.output = FileState(try files.attributes(output))
            } catch {
                warn(
                    FerryWarning(
                        .permissionsNotSet,
                        "\(output) could not be given the permissions of \(place.store): \(FerryError.wrapping(error, on: output).message)",
                        about: .init(path: output)))
            }
        }
        let cleanUp = CleanUp(store: place.result, files: files, ownsExternalFiles: place.ownsExternalFiles)
        let done = cleanUp.finish(record, in: folder, after: problem)
        relay.measure(by: nil)
        for warning in done.warnings { warn(warning) }
        noteTimes(&record)
        guard let migration = record.migration else { return nil }
        var report = report(record, migration)
        report.externalFiles = done.external
        report.warnings += warnings
        relay.send(.finished(report))
        return report
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
        report.warnings = migration.findings.warnings
        report.losses = (migration.findings.losses ?? []).map { $0.counted(by: report.entityMappings) }
            .filter { $0.rows != 0 }
        report.chunks.count = migration.steps.map(\.chunks).clampedSum
        report.chunks.median = chunkTimes.percentile(0.5).map { .clamped(nanoseconds: $0) }
        report.chunks.percentile90 = chunkTimes.percentile(0.9).map { .clamped(nanoseconds: $0) }
        if chunkTimes.count > 0 { report.chunks.longest = .clamped(nanoseconds: chunkTimes.longest) }
        report.resumed = isResumed
        report.wallTime = time(since: start)
        report.earlierTime = .clamped(seconds: earlierSeconds)
        report.peakResidentBytes = PeakMemory.bytes(files: files)
        if let before = bytesBefore, let now = ProcessBytes.now(files: files) {
            report.bytesRead = now.read - before.read
            report.bytesWritten = now.written - before.written
        }
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

    /// The rows that a phase goes over; nil where they were not counted, or where it goes over none.
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
    /// What earlier versions had left, with what became of it; only a migration in place can keep it.
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
    /// The record of a run whose new store is in its place, although something has failed behind that.
    ///
    /// - Throws: The error, unless that is certain.
    func done(despite error: any Error, _ folder: RunFolder, _ sourceGuard: SourceGuard) throws -> RunRecord {
        guard var record = folder.record else { throw error }
        do {
            // It may hold the store for itself.
            if place.output == nil { sourceGuard.release() } else { try sourceGuard.close() }
            guard try isDone(&record, folder) else { throw error }
        } catch _ {
            // What cannot be asked counts as not having happened.
            throw error
        }
        return record
    }

    /// Does the last piece of a run's work and ends the run.
    ///
    /// - Returns: The report; an error that came behind the commit is told in it.
    /// - Throws: What the work throws before its commit.
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
            return try InterruptedRun(folder: folder, files: files, trace: configuration.trace)
                .recover(&record, at: place.result)
        }
        // First, since opening a store in WAL mode makes side files.
        guard let target = record.migration?.to, record.isCommitted(to: target) else { return false }
        let reader = try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: record.sideFiles)
        let hashes = try OpenedStore(reader).metadata.hashes
        try reader.close()
        return try hashes == inputs.catalog.version(named: target).hashes
    }
}
