internal import FerryBase
internal import FerrySQLite

/// Changes a store's journal for one transaction, and restores it.
///
/// A swap of a large store in WAL mode takes a rollback journal, which saves only pages that are overwritten: in WAL mode
/// SQLite writes every page twice, and its index of the `-wal` takes 2 KiB of memory for each MiB. A step on the store
/// itself takes WAL mode, beside which the old rows can be read.
///
/// The connection has exclusive access to the store from its first read to the end. Before each change of the store's
/// files, the run's record gets their next state, so that the next call can tell whether the store is as the run left
/// it.
struct JournalSwitch {
    /// The writer, in no transaction.
    let connection: Connection
    let session: RunSession

    private var files: FileLayer { session.folder.files }
    private var head: RunRecord {
        get { session.head }
        nonmutating set { session.head = newValue }
    }
    private var store: StoreFileNames { StoreFileNames(connection.path) }

    /// Locks the store exclusively, beyond the transaction, and returns its fingerprint.
    @discardableResult
    func lockExclusively(_ check: (Fingerprint) throws -> Void = { _ in }) throws -> Fingerprint {
        guard try connection.beginExclusively() else { throw inUse }
        let now = Fingerprint(store: try PageReader(connection).fingerprint(files: files))
        try check(now)
        try connection.execute("ROLLBACK")
        return now
    }

    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program reads or writes the store.
    func setMode(_ mode: String) throws {
        do {
            let answer = try connection.rows("PRAGMA main.journal_mode = \(mode)").first?.first?.text
            guard answer == mode.lowercased() else { throw inUse }
        } catch let error as DatabaseError where error.isBusy {
            throw inUse
        }
    }

    private var inUse: FerryError {
        FerryError(
            .storeInUseAtSwap, "\(store.main) is open in another program, so it was not changed.",
            remedy: "Close that program and \(action: .again); finished work is kept.")
    }

    // MARK: Returning to WAL mode

    private func returnToLog() throws {
        try setMode("WAL")
        // The journal is empty, and no other connection can have begun a new one.
        try files.removeIfPresent(store.journal)
        // The `-wal` belongs to this connection alone, and is empty.
        connection.keepWriteAheadLogOnClose(false)
    }

    /// Restores WAL mode after a failed or killed transaction, which left a hot journal if `wasRolledBack`.
    private func restoreLog(as before: DatabaseFingerprint, wasRolledBack: Bool) throws {
        let header = try DatabaseHeader(connection.rawBytes(count: DatabaseHeader.byteCount, at: 0))
        if header?.usesWriteAheadLog != false, !wasRolledBack { return }
        let now = try lockExclusively().store
        if now.usesWriteAheadLog {
            // The rolled back transaction was the change of the journal mode.
            let before = head.checkpointed?.store ?? head.source.store.withoutLog
            guard now.withoutLog.isSame(butForTime: before) else { return }
            head.source.store = now.withoutLog
        } else {
            try returnToLog()
            // Another program has written.
            guard now.isNext(afterJournalModeOf: before) else { return }
            head.source.store = try lockExclusively().store.withoutLog
        }
        head.checkpointed = nil
        head.rollbackMode = nil
        try session.save()
    }
}

/// The journal after a transaction.
extension JournalSwitch {
    /// Leaves the whole store in its main file, in its former journal mode: after a transaction, also a killed one.
    ///
    /// A failed transaction leaves frames in a `-wal` that had none; one with frames of another program stays as it is. A
    /// store that another program has opened meanwhile stays in WAL mode: Core Data sets the mode whenever it opens one.
    func restore(isDone: Bool, wasRolledBack: Bool = false) throws {
        if let before = head.rollbackMode {
            guard isDone else { return try restoreLog(as: before, wasRolledBack: wasRolledBack) }
            try lockExclusively()
            return try returnToLog()
        }
        guard try isLogged() else { return try removeEmptyJournal() }
        // A page that a reader keeps from being written back is written back when the store is next opened.
        if isDone || head.source.store.walFrames == nil { _ = try connection.checkpoint("TRUNCATE") }
        guard !head.source.store.usesWriteAheadLog else { return }
        try connection.detach("source")
        do {
            try setMode("DELETE")
        } catch let error as FerryError where error.code == .storeInUseAtSwap {
        }
    }

    private func isLogged() throws -> Bool { try connection.pragma("journal_mode")?.text == "wal" }

    /// Removes an empty journal, unless another program has the store open; SQLite has rolled back one with content.
    private func removeEmptyJournal() throws {
        func isEmpty() throws -> Bool { try files.attributesIfPresent(store.journal)?.size == 0 }
        guard try isEmpty() else { return }
        do {
            try lockExclusively()
        } catch let error as FerryError where error.code == .storeInUseAtSwap {
            return
        }
        if try isEmpty() { try files.removeIfPresent(store.journal) }
    }
}

/// The journal of a swap, which is one transaction.
extension JournalSwitch {
    /// Gets exclusive access to the store, writes its `-wal` back into the main file, and chooses the journal.
    ///
    /// A store in WAL mode keeps it, so that a kill changes nothing that its clients see. Two stores get a rollback
    /// journal meanwhile: a large one, since SQLite's index of a `-wal` takes memory, and one whose new content has
    /// another page size, which SQLite does not write by a `-wal`. The record then holds the store's state.
    ///
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened the store, `.sourceChanged`.
    func begin(for source: Connection, largestLogged: Int64) throws {
        guard head.source.store.usesWriteAheadLog else {
            try lockExclusively { try head.checkSource($0) }
            try session.save()
            return try setMode("TRUNCATE")
        }
        // A first read in shared mode: SQLite then removes the `-shm` together with the `-wal`.
        try connection.readSchema()
        let pageSize = try source.pragma("page_size")?.integer ?? 0
        let staysLogged =
            try source.contentBytes() <= largestLogged && pageSize == connection.pragma("page_size")?.integer
        var now = try lockExclusively { try head.checkSource($0) }
        if staysLogged, now.store.walFrames == nil { return try session.save() }
        if now.store.walFrames != nil {
            // Without emptying it: the `-wal` shows that nothing was committed, and after its removal the main file is
            // as recorded.
            guard try connection.checkpoint("PASSIVE") else { throw inUse }
            now = try lockExclusively()
        }
        now.store = now.store.withoutLog
        head.checkpointed = now
        if !staysLogged { head.rollbackMode = now.store }
        try session.save()
        guard staysLogged else { return try setMode("TRUNCATE") }
        guard try connection.checkpoint("TRUNCATE") else { throw inUse }
        try lockExclusively { try head.checkSource($0) }
    }
}
