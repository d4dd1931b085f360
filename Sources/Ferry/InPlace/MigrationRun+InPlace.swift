internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

extension MigrationRun {
    /// The session of a run in place of which only the snapshot was taken; nil if the store or the plan has changed.
    func continued(
        _ session: MigrationSession, _ plan: MigrationPlan, _ sourceGuard: SourceGuard
    ) throws -> MigrationSession? {
        let now = try sourceGuard.fingerprint().with(inputs: inputs.digests)
        // A rolled back journal restores the file's bytes with another time. A writer with a rollback journal counts
        // its change in the header, which is compared; a writer with a -wal may leave no other trace.
        if !session.head.source.store.usesWriteAheadLog {
            session.head.source.store.modified = now.store.modified
            session.head.source.store.changed = now.store.changed
        }
        do {
            try checkSame(session, plan, now)
        } catch let error as FerryError where [.runDiffers, .sourceChanged].contains(error.code) {
            try session.folder.clear()
            return nil
        }
        try session.save()
        return session
    }
}
