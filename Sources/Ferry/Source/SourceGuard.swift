package import FerryBase
package import FerrySQLite

/// The connection that keeps other writers out of a store from preflight to swap, and never writes itself.
///
/// Readers continue; SQLite refuses every other writer. At the end the store's files are unchanged byte for byte, and
/// side files that only this connection made are removed.
package final class SourceGuard {
    package enum Purpose {
        /// Keeps writers out (`BEGIN IMMEDIATE`).
        case migrating
        /// Reads one state of the store; other programs may write.
        case reading
    }

    package let store: StoreFileNames
    /// The mode in which the store could be opened: with `.readOnly` and `.unlocked`, no lock keeps writers out.
    package let access: Connection.Mode
    package let sideFiles: SideFiles
    private let files: FileLayer
    private var opened: Connection?
    private var cloned: ClonedFile?

    /// Opens a store, whose path has no symbolic links, and locks writers out for a migration.
    ///
    /// `sideFiles` are those that an earlier call of the run found; nil to look for them now.
    ///
    /// - Throws: ``FerryError`` `.notFound`, `.notADatabase`, `.notACoreDataStore`, `.hotJournal`, `.storeInUse`.
    package init(
        path: String, purpose: Purpose, files: FileLayer, sideFiles: SideFiles? = nil, vfs: VFS? = nil,
        memory: MemoryBudget = MemoryBudget(), trace: TraceHook? = nil
    ) throws {
        store = StoreFileNames(path)
        self.files = files
        try Self.checkMainFile(path, files: files)
        try Self.checkSideFiles(store, purpose, files: files)
        self.sideFiles = try sideFiles ?? SideFiles(of: store, files: files)
        do {
            let store = store
            (opened, access) = try Self.open(store, files: files) {
                try Self.connect(store, $0, purpose, files: files, vfs: vfs, memory: memory, trace: trace)
            }
            do {
                try checkIsStore()
            } catch {
                // The first error is reported; a failed close leaves only empty side files.
                do { try close() } catch {}
                throw error
            }
        } catch {
            throw FerryError.namingRun(FerryError.beforeRun(error, on: path), on: path, files: files)
        }
    }

    /// The connection, inside the guard's transaction, for reading only.
    package var connection: Connection {
        guard let opened else { preconditionFailure("the guard was closed") }
        return opened
    }

    /// Lets a body scan the store before other connections are open, with a part of the memory that these will have: more
    /// gains little, and the allocator would keep it for the rest of a small store's run.
    func scanning<Result>(
        _ memory: MemoryBudget, until stop: StopRequest, _ body: () throws -> Result
    ) throws -> Result {
        try connection.abandoning(on: stop) { try connection.withCache(memory.workingCaches / 8, body) }
    }

    // MARK: Opening

    private static func checkMainFile(_ path: String, files: FileLayer) throws {
        guard let attributes = try files.attributesIfPresent(path) else {
            throw FerryError(.notFound, "There is no store at \(path).", remedy: "Check the path.")
        }
        if attributes.isDirectory {
            throw FerryError(
                .notADatabase, "\(path) is a folder, not a store.", remedy: "Pass the store's main file in it.")
        }
        guard attributes.isRegularFile else { throw FerryError.notADatabase(path, "a pipe, a socket or a device") }
        guard attributes.size > 0 else { throw FerryError.notADatabase(path, "an empty file") }
    }

    /// Refuses a folder, a link or a device under the name of a side file: SQLite would not open it, and then reads the
    /// main file without it, or fails.
    private static func checkSideFiles(
        _ store: StoreFileNames, _ purpose: Purpose, files: FileLayer
    ) throws(FerryError) {
        // The index holds no content, so a reader can do without.
        for path in purpose == .migrating ? store.sides : [store.log, store.journal] {
            let isLink = try files.isSymbolicLink(path)
            let isRegular = try files.attributesIfPresent(path)?.isRegularFile
            guard isLink || isRegular == false else { continue }
            throw FerryError(
                .notARegularFile,
                "\(path) is not a regular file but \(isLink ? "a symbolic link" : "a folder, a pipe or a device"), and "
                    + "SQLite needs that name for itself.",
                remedy: isLink
                    ? "Put the file that it leads to in its place, or remove the link if it leads nowhere."
                    : "Move it away.")
        }
    }

    /// Opens a store in the first mode that its file and its folder allow.
    private static func open(
        _ store: StoreFileNames, files: FileLayer, _ connect: (Connection.Mode) throws -> Connection
    ) throws -> (Connection, Connection.Mode) {
        do {
            return (try connect(.readWrite), .readWrite)
        } catch let error as DatabaseError where error.meansNotWritable {
            // The folder allows no side files, or the file no writes.
        }
        do {
            return (try connect(.readOnly), .readOnly)
        } catch let error as DatabaseError where error.meansNotWritable {
            // SQLite would have to roll back a journal first.
            guard try !files.exists(store.journal) else {
                throw FerryError(
                    .storeReadOnly,
                    "\(store.main) cannot be read where it is: a program was interrupted while writing to it, and its "
                        + "folder is not writable.",
                    remedy: "Copy the store with its side files to a writable folder, and open it there "
                        + "once with its app.", cause: error)
            }
        }
        return (try connect(.unlocked), .unlocked)
    }

    private static func connect(
        _ store: StoreFileNames, _ mode: Connection.Mode, _ purpose: Purpose, files: FileLayer, vfs: VFS?,
        memory: MemoryBudget, trace: TraceHook?
    ) throws -> Connection {
        let connection = try Connection(path: store.main, mode: mode, vfs: vfs, trace: trace)
        connection.keepWriteAheadLogOnClose()
        // SQLite falls back to read-only access, and BEGIN IMMEDIATE then keeps no writer out.
        if mode == .readWrite, connection.isReadOnly {
            throw DatabaseError(code: 8, message: "\(store.main) cannot be written")
        }
        // Before the first statement, which would roll back a hot journal.
        try checkHeader(of: connection, store)
        try checkJournal(of: connection, store, files: files)
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        // The swap writes the `-wal` back over this connection.
        try connection.syncFully()
        try connection.shareCaches(memory.guardCache, among: ["main": 1], sorters: 0)
        try connection.execute(mode == .readWrite && purpose == .migrating ? "BEGIN IMMEDIATE" : "BEGIN")
        try connection.execute("PRAGMA query_only = 1")
        try connection.readSchema()
        return connection
    }

    private static func checkHeader(of connection: Connection, _ store: StoreFileNames) throws {
        let start = try connection.rawBytes(count: DatabaseHeader.byteCount, at: 0)
        if DatabaseHeader(start) == nil { throw FerryError.notADatabase(store.main, DatabaseFiles.guess(start)) }
    }

    /// Refuses the journal of a crashed writer, which SQLite's next reader would roll back into the store.
    private static func checkJournal(of connection: Connection, _ store: StoreFileNames, files: FileLayer) throws {
        guard let start = try journalStart(store, files: files) else { return }
        // An active writer makes one journal after another; the journal of a crash does not change.
        for _ in 0..<3 {
            if try connection.isReserved() { throw FerryError.storeInUse(store.main) }
            Clock.wait(milliseconds: 5)
            guard let now = try journalStart(store, files: files) else { return }
            if now != start { throw FerryError.storeInUse(store.main) }
        }
        throw FerryError(
            .hotJournal, "\(store.main) has a hot journal: a program was interrupted while writing to it.",
            remedy: "Open the store once with its app, which repairs it, or use \(action: .recoverJournal).")
    }

    /// The header of a journal that SQLite would roll back; nil if there is none.
    private static func journalStart(_ store: StoreFileNames, files: FileLayer) throws(FerryError) -> [UInt8]? {
        do throws(FerryError) {
            let start = try files.open(store.journal).read(count: 28, at: 0)
            // PERSIST mode ends a transaction by zeroing the header.
            return (start.first ?? 0) == 0 ? nil : start
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    private func checkIsStore() throws {
        guard try connection.pragma("table_info(Z_METADATA)") != nil,
            try connection.pragma("table_info(Z_PRIMARYKEY)") != nil
        else {
            throw FerryError(
                .notACoreDataStore, "\(store.main) is an SQLite database, but not a Core Data store.",
                remedy: "Pass the store's main file, with its -wal next to it if it has one.")
        }
    }

    /// The store's present fingerprint; inside a transaction only.
    package func fingerprint() throws -> Fingerprint {
        Fingerprint(store: try PageReader(connection).fingerprint(files: files))
    }

    /// The store's main file, from which clones can be made while the guard is open.
    func clonedFile() throws(FerryError) -> ClonedFile {
        if let cloned { return cloned }
        let file = try ClonedFile(store.main, files: files)
        cloned = file
        return file
    }

    // MARK: Ending

    /// Ends the transaction and locks the store exclusively, against readers too.
    ///
    /// - Returns: False if another connection has the store open; the guard must then be closed.
    package func takeExclusively() throws -> Bool {
        precondition(access == .readWrite, "only a guard that may write can take the store")
        return try handOver().beginExclusively()
    }

    /// Ends the transaction and allows writing by the connection; another program may write in between.
    func handOver() throws -> Connection {
        precondition(access == .readWrite, "only a guard that may write can write")
        try endTransaction()
        try connection.execute("PRAGMA query_only = 0")
        return connection
    }

    /// Ends the transaction and keeps the store open while another connection of this run continues.
    package func endTransaction() throws {
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
    }

    /// Closes the store; removes side files that did not exist before, if no other program has the store open.
    package func close() throws {
        guard opened != nil else { return }
        defer { release() }
        guard access == .readWrite, !sideFiles.hadLog || !sideFiles.hadIndex,
            try files.exists(store.log) || files.exists(store.index)
        else { return }
        // Another connection uses the side files.
        guard try takeExclusively() else { return }
        if !sideFiles.hadLog, try files.attributesIfPresent(store.log)?.size == 0 {
            try files.removeIfPresent(store.log)
        }
        if !sideFiles.hadIndex { try files.removeIfPresent(store.index) }
    }

    /// Calls a body and closes the store, also after an error.
    ///
    /// - Throws: The body's error, as an error on the store; else that of closing.
    func closing<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            try close()
            return result
        } catch {
            // The first error is reported; a failed close leaves only empty side files.
            do { try close() } catch {}
            throw FerryError.wrapping(error, on: store.main)
        }
    }

    /// Closes the connection and leaves side files.
    package func release() {
        opened = nil
        cloned = nil
    }
}

extension Connection {
    /// Begins a transaction that also keeps readers out, and whose lock continues after it: in WAL mode
    /// `BEGIN EXCLUSIVE` alone keeps only writers out.
    ///
    /// - Returns: False if another connection has the store open.
    func beginExclusively() throws -> Bool {
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        do {
            try execute("BEGIN EXCLUSIVE")
            return true
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }
}

extension DatabaseError {
    /// Whether the file or its folder refuses writing: `SQLITE_PERM`, `SQLITE_READONLY`, `SQLITE_CANTOPEN`.
    fileprivate var meansNotWritable: Bool { [3, 8, 14].contains(primaryCode) }
}

extension FileLayer {
    /// A VFS with temporary files in a folder, or in SQLite's default one, and with the injected faults of this layer.
    func vfs(_ temporaryFolder: String? = nil) throws -> VFS? {
        guard temporaryFolder != nil || faults != nil else { return nil }
        return try VFS(temporaryFolder: temporaryFolder, faults: faults)
    }
}
