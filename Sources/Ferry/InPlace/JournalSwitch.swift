internal import FerryBase
internal import FerrySQLite

/// Takes a store in WAL mode through one large transaction with a rollback journal, and gives it its mode back.
///
/// In WAL mode all that a transaction writes goes to the disk twice, and SQLite's index of the `-wal` takes 2 KiB of
/// memory for each MiB of it. With a journal only pages that are overwritten are saved first.
///
/// The connection has the store alone from the first look to the end. What the store looks like after each move is in
/// the run's record before it is made, so that the next call can tell whether the store is still as the run left it: each
/// function that takes the record leaves it as it was saved last.
struct JournalSwitch {
    /// The writer, in no transaction.
    let connection: Connection
    let folder: RunFolder

    private var files: FileLayer { folder.files }
    private var store: StoreFileNames { StoreFileNames(connection.path) }

    // MARK: There

    /// Takes the store alone, writes its `-wal` back, and changes to a rollback journal.
    ///
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened the store, `.sourceChanged`.
    func leaveLog(_ record: inout RunRecord) throws {
        // Seen like by any other reader first: SQLite then removes the `-shm` together with the `-wal`.
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        var now = try alone { try record.checkSource($0) }
        if now.store.walFrames != nil { now = try writeBack() }
        now.store = now.store.withoutLog
        record.checkpointed = now
        record.rollbackMode = now.store.withRollbackJournal
        try folder.save(record)
        try setMode("TRUNCATE")
    }

    /// Writes the `-wal` back without emptying it, and looks at the store again.
    ///
    /// The first of two moves, with a record in between: until the `-wal` goes it says that nothing was committed,
    /// afterwards the main file is what the record says.
    private func writeBack() throws -> Fingerprint {
        guard try connection.checkpoint("PASSIVE") else { throw inUse }
        return try alone()
    }

    /// Looks at the store, which from then on no other connection can open.
    @discardableResult
    func alone(_ check: (Fingerprint) throws -> Void = { _ in }) throws -> Fingerprint {
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        do {
            try connection.execute("BEGIN EXCLUSIVE")
        } catch {
            guard error.isBusy else { throw error }
            throw inUse
        }
        let now = Fingerprint(store: try PageReader(connection).fingerprint(files: files))
        try check(now)
        try connection.execute("ROLLBACK")
        return now
    }

    private func setMode(_ mode: String) throws {
        let answer = try connection.rows("PRAGMA main.journal_mode = \(mode)").first?.first?.text
        guard answer == mode.lowercased() else { throw inUse }
    }

    private var inUse: FerryError {
        FerryError(
            .storeInUseAtSwap, "\(store.main) is open in another program, so nothing in it was changed.",
            remedy: "Close that program and \(action: .again): what is done is kept.")
    }

    // MARK: And back

    /// Gives the store its mode back, as it is now.
    func returnToLog() throws {
        try setMode("WAL")
        // Empty by now, and no other connection can have begun one.
        try files.removeIfPresent(store.journal)
        // The `-wal` is one of this connection alone, without content.
        connection.keepWriteAheadLogOnClose(false)
    }

    /// Gives back what a transaction that failed, or was killed, has left; the record then says what that looks like.
    ///
    /// `wasRolledBack` says whether a hot journal was there, which this connection has rolled back.
    func giveBack(_ record: inout RunRecord, wasRolledBack: Bool) throws {
        guard let rollbackMode = record.rollbackMode else { return }
        let header = try DatabaseHeader(connection.rawBytes(count: DatabaseHeader.byteCount, at: 0))
        if header?.usesWriteAheadLog != false, !wasRolledBack { return }
        let now = try alone().store
        if now.usesWriteAheadLog {
            // What was rolled back is the change of mode itself.
            let before = record.checkpointed?.store ?? record.source.store.withoutLog
            guard now.withoutLog.isSame(butForTime: before) else { return }
            record.source.store = now.withoutLog
        } else {
            try returnToLog()
            // Another program has written, or the transaction was committed.
            guard now.isSame(butForTime: rollbackMode) else { return }
            record.source.store = try alone().store.withoutLog
        }
        record.checkpointed = nil
        record.rollbackMode = nil
        try folder.save(record)
    }
}

/// The journal of the one transaction that a swap is.
extension JournalSwitch {
    /// Takes the store alone, whole in its main file, and chooses the journal.
    ///
    /// In WAL mode the store stays in it, so that a kill changes nothing that its clients see. A large one has a rollback
    /// journal meanwhile, since SQLite's index of a `-wal` takes memory, and so has one whose new content has pages of
    /// another size, which SQLite does not write by a `-wal`.
    ///
    /// The record then says what the store looks like from here on.
    ///
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened the store, `.sourceChanged`.
    func begin(_ record: inout RunRecord, for source: Connection, largestLogged: Int64) throws {
        guard record.source.store.usesWriteAheadLog else {
            try alone { try record.checkSource($0) }
            try folder.save(record)
            return try setMode("TRUNCATE")
        }
        let pageSize = try source.pragma("page_size")?.integer ?? 0
        guard try source.contentBytes() <= largestLogged && pageSize == connection.pragma("page_size")?.integer else {
            return try leaveLog(&record)
        }
        let now = try alone { try record.checkSource($0) }
        guard now.store.walFrames != nil else { return try folder.save(record) }
        var written = try writeBack()
        written.store = written.store.withoutLog
        record.checkpointed = written
        try folder.save(record)
        guard try connection.checkpoint("TRUNCATE") else { throw inUse }
        try alone { try record.checkSource($0) }
    }

    /// Leaves the store whole in its main file, in the mode that it had, after COMMIT.
    func end(_ record: RunRecord) throws {
        if record.rollbackMode != nil { return try returnToLog() }
        guard try isLogged() else { return try removeEmptyJournal() }
        guard try connection.checkpoint("TRUNCATE") else { throw inUse }
        connection.keepWriteAheadLogOnClose(false)
    }

    /// The same after a transaction that failed; what this cannot do, the next call does.
    func abandon(_ record: inout RunRecord) throws {
        if record.rollbackMode != nil { return try giveBack(&record, wasRolledBack: false) }
        if try isLogged() { _ = try connection.checkpoint("TRUNCATE") } else { try removeEmptyJournal() }
    }

    /// What ``end(_:)`` does, for a swap that was killed behind its COMMIT; another program may have the store by now.
    func endLate(_ record: inout RunRecord) throws {
        if record.rollbackMode != nil { return try giveBack(&record, wasRolledBack: false) }
        if try isLogged() {
            _ = try connection.checkpoint("TRUNCATE")
        } else {
            try alone()
            try removeEmptyJournal()
        }
    }

    private func isLogged() throws -> Bool { try connection.pragma("journal_mode")?.text == "wal" }

    /// The store is this connection's alone; a journal with content would be what SQLite could not roll back.
    private func removeEmptyJournal() throws {
        guard try files.attributesIfPresent(store.journal)?.size == 0 else { return }
        try files.removeIfPresent(store.journal)
    }
}
