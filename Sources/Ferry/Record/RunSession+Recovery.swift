internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Recovery after a call that ended within a transaction on the store.
///
/// SQLite rolls such a transaction back at the next read of the store. The store then gets its former journal mode
/// back, and the record gets the store's new state.
extension RunSession {
    private var files: FileLayer { folder.files }

    /// Recovers the store of the run, or its output, before any other code opens it, and saves the record.
    ///
    /// - Returns: Whether the swap has happened.
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened a store in the wrong journal mode.
    package func recover(at path: String, trace: TraceHook? = nil) throws -> Bool {
        try FerryError.wrapping(on: path) {
            switch head.swap {
            case .place(let place): return try place.isDone(at: path, files: files)
            case .overwrite(let intent): return try recoverStore(at: path, intent, trace)
            case nil: return false
            }
        }
    }

    private func recoverStore(
        at path: String, _ intent: SwapIntent.Overwrite, _ trace: TraceHook?
    ) throws -> Bool {
        guard try files.exists(path) else { return false }
        let isHot = try DatabaseFiles.hasHotJournal(path, files: files)
        let connection = try Connection(recovering: path, files: files, trace: trace)
        try connection.readSchema()
        // An app may have brought the old store to the same version.
        let isDone = try head.migration?.isComplete != false && intent.isDone(on: connection)
        do {
            try JournalSwitch(connection: connection, session: self).restore(isDone: isDone, wasRolledBack: isHot)
        } catch {
            // The new store is whole, in either journal mode.
            guard isDone else { throw error }
        }
        if !isDone, !head.source.store.usesWriteAheadLog {
            // A rolled back journal restores the file's bytes with another time. A writer with a rollback journal
            // counts its change in the header, which is compared.
            head.source.store.takeTimes(from: try files.attributes(path))
            try save()
        }
        withExtendedLifetime(connection) {}
        return isDone
    }

    /// Recovers the store after an error that may come from after the commit.
    ///
    /// - Returns: The warning about the error, if the new store is in place.
    /// - Throws: The error, if that is not certain: a store that cannot be read counts as the old one.
    func recover(
        from error: any Error, at path: String, releasing sourceGuard: SourceGuard, trace: TraceHook?
    ) throws -> FerryWarning {
        do {
            guard head.swap != nil, head.migration?.isComplete != false else { throw error }
            // The guard may hold an exclusive lock on the store.
            sourceGuard.release()
            guard try recover(at: path, trace: trace) else { throw error }
        } catch _ {
            throw error
        }
        return FerryWarning(
            .cleanUpFailed,
            "The work is complete. Ferry recovered from an error after its commit: "
                + FerryError.wrapping(error, on: path).message,
            about: .init(path: path))
    }
}

/// The results of the work after the swap, with its failures as warnings.
package struct CleanedUp {
    var external = MigrationReport.ExternalFiles()
    var warnings: [FerryWarning] = []
}

/// The work after the swap; any later command may do it.
extension RunSession {
    /// Does all work after the swap, including the removal of the folder.
    ///
    /// Never throws: the new store is in place, and the next command repeats work that fails now.
    func finish(at store: String, ownsExternalFiles: Bool = true) -> CleanedUp {
        var done = CleanedUp()
        do {
            try save()
            done = try cleanUp(at: store, ownsExternalFiles: ownsExternalFiles)
            try folder.remove()
        } catch {
            let reason = FerryError.wrapping(error, on: store)
            done.warnings.append(
                FerryWarning(
                    .cleanUpFailed,
                    "The migration is complete, but cleaning up failed: \(reason.message) The next command on the store "
                        + "repeats the cleanup.",
                    about: .init(path: store)))
        }
        return done
    }

    /// Removes external files that only the old store named, and writes the log; the caller removes the folder.
    @discardableResult
    package func cleanUp(at store: String, ownsExternalFiles: Bool = true) throws -> CleanedUp {
        var done = CleanedUp()
        if ownsExternalFiles {
            done.external = try ExternalFiles(store: store, files: files).removeReleased(workFolder: folder.path)
        }
        let hashes = try OpenedStore.reading(store, files: files) { $0.metadata.hashes }
        done.warnings = try [RunLog(beside: store, files: files).add(head, hashes: hashes)].compactMap { $0 }
        return done
    }
}
