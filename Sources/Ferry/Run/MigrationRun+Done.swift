internal import FerryBase
internal import FerryModel
internal import FerryStore

extension MigrationRun {
    /// The record of a run whose new store is in its place, although something has failed behind that.
    ///
    /// - Throws: The error, unless that is certain.
    func done(despite error: any Error, _ folder: RunFolder, _ sourceGuard: SourceGuard) throws -> RunRecord {
        guard let record = folder.record else { throw error }
        // What cannot be asked has not happened, as far as this call knows.
        do {
            guard try isDone(record) else { throw error }
        } catch _ {
            throw error
        }
        if place.output == nil {
            // The guard's file is the old one.
            sourceGuard.release()
        } else {
            do { try sourceGuard.close() } catch {}
        }
        return record
    }

    private func isDone(_ record: RunRecord) throws -> Bool {
        guard record.isUnfinishedInPlace else {
            return try SwapIntent.isDone(record, at: place.result, files: files)
        }
        // First, since opening a store in WAL mode makes side files.
        guard let target = record.migration?.to, record.isCommitted(to: target) else { return false }
        let reader = try SourceGuard(path: place.store, purpose: .reading, files: files, sideFiles: record.sideFiles)
        let hashes = try OpenedStore(reader).metadata.hashes
        try reader.close()
        return try hashes == inputs.target(configuration).hashes
    }
}
