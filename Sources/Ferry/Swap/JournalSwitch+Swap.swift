internal import FerryBase
internal import FerrySQLite

/// The journal of the one transaction that a swap is.
extension JournalSwitch {
    /// Takes the store alone, whole in its main file, and chooses the journal.
    ///
    /// In WAL mode the store stays in it, so that a kill changes nothing that its clients see. A large one has a rollback
    /// journal meanwhile, since SQLite's index of a `-wal` takes memory, and so has one whose new content has pages of
    /// another size, which SQLite does not write by a `-wal`.
    ///
    /// - Parameters:
    ///   - record: The run; afterwards as it was saved last, with what the store looks like from here on.
    ///   - source: The new content.
    ///   - largestLogged: Bytes of content that at most go through a `-wal`.
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another program has opened the store, `.sourceChanged`.
    func begin(_ record: inout RunRecord, for source: Connection, largestLogged: Int64) throws {
        guard record.source.store.usesWriteAheadLog else {
            try alone { try record.checkSource($0) }
            try folder.save(record)
            return try setMode("TRUNCATE")
        }
        let pageSize = try source.pragma("page_size")?.integer ?? 0
        let bytes = try (source.pragma("page_count")?.integer ?? 0) * pageSize
        guard try bytes <= largestLogged && pageSize == connection.pragma("page_size")?.integer else {
            return try leaveLog(&record)
        }
        let now = try alone { try record.checkSource($0) }
        guard now.store.walFrames != nil else { return try folder.save(record) }
        // In two moves, with a record in between: until the `-wal` is emptied it says that nothing was committed,
        // afterwards the main file is what the record says.
        guard try connection.checkpoint("PASSIVE") else { throw inUse }
        var written = try alone()
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

    /// The same after a transaction that failed.
    ///
    /// - Parameter record: The run; afterwards as it was saved last.
    /// - Throws: ``FerryError``, ``DatabaseError``; the next call then does it.
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
