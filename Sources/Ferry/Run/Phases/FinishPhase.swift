internal import FerryBase
internal import FerryModel
internal import FerryStore

/// Does the last piece of a run's work and ends the run; the report has an error from after the commit.
struct FinishPhase: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession
    let sourceGuard: SourceGuard

    func run(after work: () throws -> Void) throws -> MigrationReport {
        var problem: (any Error)?
        do {
            try work()
        } catch {
            try requireDone(despite: error)
            problem = error
        }
        return call.report(ending: session, after: problem)
    }

    /// Takes the record of a run whose new store is in place, or throws the error, if that is not certain.
    private func requireDone(despite error: any Error) throws {
        guard session.takeSaved() else { throw error }
        do {
            // The guard may hold an exclusive lock on the store.
            if place.output == nil { sourceGuard.release() } else { try sourceGuard.close() }
            guard try isDone() else { throw error }
        } catch _ {
            // If the store cannot be read, the swap counts as not done.
            throw error
        }
    }

    private func isDone() throws -> Bool {
        guard session.isUnfinishedInPlace else {
            guard head.swap != nil else { return false }
            return try session.recover(at: place.result, trace: configuration.trace)
        }
        // This check is first, since opening a store in WAL mode makes side files.
        let target = migration.to
        guard session.isCommitted(to: target) else { return false }
        let hashes = try OpenedStore.reading(place.store, files: files, sideFiles: head.sideFiles) {
            $0.metadata.hashes
        }
        return try hashes == call.inputs.catalog.version(named: target).hashes
    }
}
