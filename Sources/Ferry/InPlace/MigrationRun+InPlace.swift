internal import FerryBase
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite

extension MigrationRun {
    /// Whether a step writes more than a few pages of a store that is not small.
    func writesMuch(_ step: StepPlan, on connection: Connection, _ inPlace: ProgramInPlace?) throws -> Bool {
        guard try connection.contentBytes() > configuration.thresholds.largestLoggedStore else { return false }
        // Planning a step through several versions twice is not worth its time.
        guard step.parts.isEmpty, let inPlace else { return true }
        return try !inPlace.program().moves.touched.isEmpty
    }

    /// Whether all values are compared with those of the old store before COMMIT.
    func verifiesBeforeCommit(_ planned: Planned) -> Bool {
        configuration.verification == .full && planned.writesRows
            && planned.inPlace?.found?.moves.touched.isEmpty != true
    }

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
