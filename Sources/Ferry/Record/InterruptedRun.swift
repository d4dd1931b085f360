package import FerryBase
internal import FerrySQLite
internal import FerryStore

/// What a call that ended within a transaction on the store has left there.
///
/// SQLite rolls such a transaction back as soon as the store is read; the store then gets the journal mode back that it
/// had, and the record says what it looks like.
package struct InterruptedRun {
    let folder: RunFolder
    let files: FileLayer
    let trace: TraceHook?

    package init(folder: RunFolder, files: FileLayer, trace: TraceHook? = nil) {
        self.folder = folder
        self.files = files
        self.trace = trace
    }

    /// Looks at the store of a run, or at its output, before anything else opens it.
    ///
    /// - Parameters:
    ///   - record: The run; afterwards as it was saved last.
    ///   - path: The store, or the output.
    /// - Returns: Whether the swap has happened.
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened a store that waits for its journal
    ///   mode.
    package func recover(_ record: inout RunRecord, at path: String) throws -> Bool {
        do {
            switch record.swap {
            case .place(let place): return try place.isDone(at: path, files: files)
            case .overwrite(let intent): return try recoverStore(&record, at: path, intent)
            case nil:
                // A run that changes the store itself recognises its end by the version that the store has.
                if record.isUnfinishedInPlace { _ = try recoverStore(&record, at: path, nil) }
                return false
            }
        } catch {
            throw FerryError.wrapping(error, on: path)
        }
    }

    private func recoverStore(
        _ record: inout RunRecord, at path: String, _ intent: SwapIntent.Overwrite?
    ) throws -> Bool {
        let journal = StoreFileNames(path).journal
        let first = try files.exists(journal) ? files.open(journal).read(count: 1, at: 0).first : nil
        let isHot = first.map { $0 != 0 } ?? false
        let connection = try Connection(
            path: path, mode: .readWrite, vfs: files.faults.map { try VFS(temporaryFolder: nil, faults: $0) },
            trace: trace)
        connection.keepWriteAheadLogOnClose()
        try connection.syncFully()
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        let isDone = try intent?.isDone(on: connection) ?? false
        let switching = JournalSwitch(connection: connection, folder: folder, files: files)
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
            try folder.save(record)
        }
        withExtendedLifetime(connection) {}
        return isDone
    }
}
