internal import FerryBase
internal import FerryModel
internal import FerryStore

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
            // What cannot be asked has not happened, as far as this call knows.
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
