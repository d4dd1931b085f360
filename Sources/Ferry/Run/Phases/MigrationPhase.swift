internal import FerryBase

/// A phase of a migration after its run has begun: it works on the run's session, by the settings of the call.
protocol MigrationPhase {
    var call: MigrationRun { get }
    var session: MigrationSession { get }
}

extension MigrationPhase {
    var configuration: Configuration { call.configuration }
    var files: FileLayer { call.files }
    var place: RunPlace { call.place }
    var relay: EventRelay { call.relay }
    var stop: StopRequest { call.stop }
    var memory: MemoryBudget { call.memory }
    var folder: RunFolder { session.folder }

    var head: RunHead {
        get { session.head }
        nonmutating set { session.head = newValue }
    }

    var migration: RunRecord.Migration {
        get { session.migration }
        nonmutating set { session.migration = newValue }
    }

    /// Saves the record with the times of the phases so far.
    func saveWithTimes() throws {
        noteTimes()
        try session.save()
    }

    func noteTimes() { call.noteTimes(session) }

    /// The finished store of a step, counted from 1.
    func destination(ofStep number: Int) -> String { folder.stepFolder(number) + "/destination.sqlite" }

    /// Checks that the last step's destination is still the verified file.
    ///
    /// - Throws: ``FerryError`` `.destinationChanged`.
    func checkVerified(_ destination: String) throws {
        guard let verified = migration.steps.last?.destination else { return }
        guard try files.attributesIfPresent(destination).map(FileState.init) != verified else { return }
        throw FerryError(
            .destinationChanged,
            "\(destination) was modified or removed after verification. \(place.store) is unchanged.",
            remedy: "\(action: .again) with \(on: .restarts), which recreates the new store.")
    }
}
