internal import FerryBase
internal import FerrySQLite

/// Puts a verified destination into the place of a store.
///
/// One `rename` of the main file is the only commit point: everything before it leaves a complete old store, everything
/// after it is cleaning. Any other order can show old content inside the new file through a stale `-wal`.
struct Swap {
    /// The guard of the store; it is released at the end, and whenever this throws it can still be closed.
    let sourceGuard: SourceGuard
    /// The new main file, on the store's volume, that no connection has open.
    let destination: String
    /// A folder of external files that the destination names and the store may not have yet.
    let newExternalFiles: String?
    let files: FileLayer
    var vfs: VFS?
    var trace: TraceHook?
    /// Throws when the store is no longer what the destination was made from.
    let checkSource: (Fingerprint) throws -> Void
    /// Saves, durably, what the next command needs if this one ends now: the intent, and what the store looks like once
    /// its `-wal` is written back.
    let save: (SwapIntent, Fingerprint?) throws -> Void

    private var store: StoreFileNames { sourceGuard.store }
    private var folder: String { FileLayer.parent(of: store.main) }

    /// Runs the swap.
    ///
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another connection has the store open: nothing was changed, and
    ///   the same can be tried again. Whatever `checkSource` throws.
    func run() throws {
        do {
            try prepareDestination()
            try ExternalFiles(store: store.main, files: files).add(from: newExternalFiles)
            try takeStore()
            let lock = try lockDestination()
            try putInPlace()
            // The new store first: until the old one is let go, nobody waits for it in vain.
            withExtendedLifetime(lock) {}
        } catch {
            throw FerryError.wrapping(error, on: store.main)
        }
        sourceGuard.release()
    }

    /// Gives the destination what belongs to the store's file rather than to its content, and makes it durable.
    private func prepareDestination() throws {
        let names = StoreFileNames(destination)
        for side in [names.log, names.journal] {
            // TRUNCATE mode leaves an empty journal behind.
            guard try (files.attributesIfPresent(side)?.size ?? 0) == 0 else {
                throw FerryError(
                    .internalError, "\(side) is not empty, so \(destination) is not a finished store.",
                    remedy: "Run the command again with --restart.")
            }
        }
        for side in [names.log, names.index, names.journal] { try files.removeIfPresent(side) }
        try files.copyMetadata(from: store.main, to: destination)
        try files.syncFile(destination)
    }

    // MARK: The old store

    /// Takes the store from all others and leaves it whole in its main file, with an empty `-wal` if any.
    private func takeStore() throws {
        try checkSource(sourceGuard.fingerprint())
        let attributes = try files.attributes(destination)
        let intent = SwapIntent(device: attributes.device, inode: attributes.inode)
        try save(intent, nil)
        guard try sourceGuard.takeExclusively() else { throw inUse }
        // Between the guard's transaction and this lock another program may have written.
        try checkSource(sourceGuard.fingerprint())
        try writeBack(intent)
    }

    /// Writes the `-wal` back into the main file and empties it.
    ///
    /// In two moves, with a record in between, so that the store is recognised after a kill at any moment: until the
    /// `-wal` is emptied it says that nothing was committed; afterwards the main file is what the record says.
    private func writeBack(_ intent: SwapIntent) throws {
        guard try (files.attributesIfPresent(store.log)?.size ?? 0) > 0 else { return }
        let connection = sourceGuard.connection
        // `locking_mode = EXCLUSIVE` keeps the lock over the end of the transaction.
        try connection.execute("ROLLBACK")
        try checkpoint("PASSIVE", connection)
        try connection.execute("BEGIN EXCLUSIVE")
        var written = try sourceGuard.fingerprint()
        try connection.execute("ROLLBACK")
        written.store = written.store.withoutLog
        try save(intent, written)
        try checkpoint("TRUNCATE", connection)
        try connection.execute("BEGIN EXCLUSIVE")
        guard try written.compare(with: sourceGuard.fingerprint()) == .same else {
            throw FerryError(
                .sourceChanged, "\(store.main) was written by another program during the swap.",
                remedy: "Close the app that has it open and run the command again with --restart.")
        }
    }

    private func checkpoint(_ mode: String, _ connection: Connection) throws {
        guard try connection.checkpoint(mode) else { throw inUse }
    }

    private var inUse: FerryError {
        FerryError(
            .storeInUseAtSwap,
            "\(store.main) is open in another program, so the migrated store was not put in its place.",
            remedy: "Close the app and run the same command again: everything but the swap is done.")
    }

    // MARK: The new store

    /// Locks the destination's inode, so that nobody reads the new store before its folder is durable.
    private func lockDestination() throws -> Connection {
        let connection = try Connection(path: destination, mode: .readWrite, vfs: vfs, trace: trace)
        // An ordinary close could remove, by its path, the `-wal` of a store that is not this one any more.
        connection.keepWriteAheadLogOnClose()
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        return connection
    }

    private func putInPlace() throws {
        for side in [store.log, store.index, store.journal] { try files.removeIfPresent(side) }
        try files.syncFolder(folder)
        try files.rename(destination, to: store.main)
        try files.syncFolder(folder)
    }
}
