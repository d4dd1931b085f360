internal import FerryBase
internal import FerryEngine
internal import FerryStore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
        let time = Clock.nanoseconds()
        let destination = lastDestination(record, in: folder)
        if let output = place.output {
            try record.checkSource(sourceGuard.fingerprint())
            try checkVerified(record, destination)
            try noteExternalFiles(sourceGuard, folder)
            var current = record
            try Placement(source: place.store, destination: destination, output: output, files: files) { intent in
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
        record.spend(seconds(since: time), in: .swap)
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
        let time = Clock.nanoseconds()
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
                    "\(output) could not be given the permissions of \(place.store): \(FerryError.wrapping(error, on: output).message)"
                )
            }
        }
        let cleanUp = CleanUp(store: place.result, files: files, ownsExternalFiles: place.ownsExternalFiles)
        let done = cleanUp.finish(record, in: folder, after: problem)
        record.spend(seconds(since: time), in: .cleanUp)
        relay.measure(by: nil)
        for warning in done.warnings { warn(warning) }
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
            chain: migration.chain, mode: migration.isInPlace ? "inPlace" : "copy")
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
        report.chunks.medianSeconds = chunkTimes.percentile(0.5).map { Double($0) / 1e9 }
        report.chunks.percentile90Seconds = chunkTimes.percentile(0.9).map { Double($0) / 1e9 }
        if chunkTimes.count > 0 { report.chunks.longestSeconds = Double(chunkTimes.longest) / 1e9 }
        report.resumed = isResumed
        report.wallSeconds = seconds(since: start)
        report.phases = record.phases.map { .init(name: $0.phase.rawValue, seconds: $0.seconds) }
        report.peakResidentBytes = PeakMemory.bytes(files: files)
        if let before = bytesBefore, let now = ProcessBytes.now(files: files) {
            report.bytesRead = now.read - before.read
            report.bytesWritten = now.written - before.written
        }
        report.snapshot = record.snapshot.map(Self.url)
        var verification = VerificationSummary(mode: migration.options.verify)
        for step in migration.steps {
            verification.checked += step.verification.checked
            verification.isBeforeCommit = verification.isBeforeCommit || step.verification.isBeforeCommit
            verification.notRecomputed += step.verification.notRecomputed
        }
        report.verification = verification
        for index in report.phases.indices {
            switch record.phases[index].phase {
            case .rows where report.entityMappings.allSatisfy { $0.isEstimated != true }:
                report.phases[index].rows = report.entityMappings.map(\.read).clampedSum
            case .verify: report.phases[index].rows = verification.checked
            case .snapshot: report.phases[index].bytes = record.snapshotBytes
            default: break
            }
        }
        return report
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
