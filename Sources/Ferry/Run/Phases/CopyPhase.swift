internal import FerryBase
internal import FerrySQLite

/// Copies a store that has the target version already, page by page.
struct CopyPhase: MigrationPhase {
    let call: MigrationRun
    let session: MigrationSession
    let sourceGuard: SourceGuard

    func run() throws {
        head.phase = .rows
        try session.save()
        relay.begin(.rows, step: 1)
        let step = folder.stepFolder(1)
        try files.createDirectory(step, mode: 0o700)
        try files.syncFolder(folder.path)
        let reader = try PageReader(sourceGuard.connection)
        let copy = PageCopy(folder: step, destination: destination(ofStep: 1), files: files)
        relay.send(.progress(ProgressUpdate(phase: .rows, subject: "copy of the store")))
        if try !files.exists(copy.destination) { try copy.run(reader, stop: stop) }
        if configuration.verify != .none {
            relay.begin(.verify, step: 1)
            try copy.verify(against: reader, stop: stop)
        }
        migration.steps = [
            RunRecord.StepRecord(
                isFinished: true, destination: FileState(try files.attributes(copy.destination)), entityMappings: [],
                unmapped: [], healed: [], leftBehind: [], chunks: 0,
                verification: VerificationSummary(mode: configuration.verify))
        ]
        try saveWithTimes()
        stop.unitIsDone()
    }
}
