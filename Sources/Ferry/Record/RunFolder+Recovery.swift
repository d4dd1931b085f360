internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// What a call that ended within a transaction on the store has left there.
///
/// SQLite rolls such a transaction back as soon as the store is read; the store then gets the journal mode back that it
/// had, and the record says what it looks like.
extension RunFolder {
    /// Looks at the store of the run, or at its output, before anything else opens it.
    ///
    /// The record is then as it was saved last.
    ///
    /// - Returns: Whether the swap has happened.
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened a store that waits for its journal
    ///   mode.
    package func recover(_ record: inout RunRecord, at path: String, trace: TraceHook? = nil) throws -> Bool {
        do {
            switch record.swap {
            case .place(let place): return try place.isDone(at: path, files: files)
            case .overwrite(let intent): return try recoverStore(&record, at: path, intent, trace)
            case nil:
                // A run that changes the store itself recognises its end by the version that the store has.
                if record.isUnfinishedInPlace { _ = try recoverStore(&record, at: path, nil, trace) }
                return false
            }
        } catch {
            throw FerryError.wrapping(error, on: path)
        }
    }

    private func recoverStore(
        _ record: inout RunRecord, at path: String, _ intent: SwapIntent.Overwrite?, _ trace: TraceHook?
    ) throws -> Bool {
        let journal = StoreFileNames(path).journal
        let first = try files.exists(journal) ? files.open(journal).read(count: 1, at: 0).first : nil
        let isHot = first.map { $0 != 0 } ?? false
        let connection = try Connection(path: path, mode: .readWrite, vfs: files.vfs(), trace: trace)
        connection.keepWriteAheadLogOnClose()
        try connection.syncFully()
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        let isDone = try intent?.isDone(on: connection) ?? false
        let switching = JournalSwitch(connection: connection, folder: self)
        if isDone {
            do {
                try switching.endLate(&record)
            } catch let error as FerryError where error.code == .storeInUseAtSwap {
                // The new store is whole; its app has it already, in whatever mode.
            }
        } else {
            try switching.giveBack(&record, wasRolledBack: isHot)
        }
        if intent != nil, !isDone, !record.source.store.usesWriteAheadLog {
            // A journal that was rolled back gives the file the bytes that it had, at another time. Whoever writes by
            // one counts the change in the header, which is compared.
            record.source.store.takeTimes(from: try files.attributes(path))
            try save(record)
        }
        withExtendedLifetime(connection) {}
        return isDone
    }
}

/// What is left to do once the swap has happened; any later command may do it.
extension RunFolder {
    /// What ``finish(_:at:ownsExternalFiles:after:)`` did, and what it could not do.
    struct CleanedUp {
        var external = MigrationReport.ExternalFiles()
        var warnings: [FerryWarning] = []
    }

    /// Does all that is left to do, the removal of this folder included.
    ///
    /// Never throws: the new store is in its place, and what fails now is done by the next command. Where something has
    /// failed behind the swap already, the rest is left to that too.
    func finish(
        _ record: RunRecord, at store: String, ownsExternalFiles: Bool = true, after problem: (any Error)? = nil
    ) -> CleanedUp {
        var done = CleanedUp()
        do {
            if let problem { throw problem }
            try save(record)
            try cleanUp(record, at: store, ownsExternalFiles: ownsExternalFiles, &done)
            try remove()
        } catch {
            let reason = FerryError.wrapping(error, on: store)
            done.warnings.append(
                FerryWarning(
                    .cleanUpFailed,
                    "The store is done, but cleaning up behind it failed: \(reason.message) The next call on the store "
                        + "finishes that.",
                    about: .init(path: store)))
        }
        return done
    }

    /// Removes external files that only the old store named, and writes the log; this folder is the caller's to remove.
    package func cleanUp(_ record: RunRecord, at store: String) throws {
        var done = CleanedUp()
        try cleanUp(record, at: store, ownsExternalFiles: true, &done)
    }

    private func cleanUp(
        _ record: RunRecord, at store: String, ownsExternalFiles: Bool, _ done: inout CleanedUp
    ) throws {
        if ownsExternalFiles {
            done.external = try ExternalFiles(store: store, files: files).removeReleased(workFolder: path)
        }
        try OpenedStore.reading(store, files: files) { opened in
            let warning = try RunLog(beside: store, files: files).add(record, hashes: opened.metadata.hashes)
            if let warning { done.warnings.append(warning) }
        }
    }
}
