internal import FerryBase
internal import FerrySQLite
internal import FerryStore

/// Writes the content of a verified destination into a store, through SQLite and in one transaction.
///
/// The file at the store's path stays the same one, so that every SQLite client sees an ordinary commit, whenever it
/// opened the store. A rename under an open connection is not safe: the connection to the old file, in WAL mode or not,
/// finds the new store's `-wal` by the path and writes into it. See `docs/resume.md`.
///
/// COMMIT is the only commit point: SQLite's own recovery undoes a kill before it; only cleaning up follows it.
package struct Swap {
    /// The guard of the store, which can be closed after this returns or throws.
    let sourceGuard: SourceGuard
    /// The new content: a finished database without an open connection.
    let destination: String
    let session: RunSession
    /// Whether SQLite may be unable to read the store that is replaced, as in a rollback.
    var mayBeDamaged = false
    var memory = MemoryBudget()
    /// The most bytes of new content that are written through a `-wal`, whose index then takes 2 MiB.
    var largestLogged: Int64 = 1 << 30
    var stop = StopRequest()
    var progress: ProgressHook?
    var trace: TraceHook?
    /// Throws if the snapshot of what the swap replaces is not whole.
    var checkSnapshot: () throws -> Void = {}

    private var files: FileLayer { session.folder.files }
    private var store: StoreFileNames { sourceGuard.store }

    /// Runs the swap; saves the record with the intent before any change of the store.
    ///
    /// - Throws: ``FerryError`` `.storeInUseAtSwap` when another connection has the store open: nothing was changed,
    ///   and the call can be repeated; `.sourceChanged`; the reason of the stop request.
    package func run() throws {
        try FerryError.wrapping(on: store.main) {
            session.head.phase = .swap
            try session.checkVerified(destination, of: store.main)
            try removeEmptyJournals(of: destination, files: files)
            let external = ExternalFiles(store: store.main, files: files)
            do {
                try external.noteNames(on: sourceGuard.connection, workFolder: session.folder.path)
            } catch let error as DatabaseError where error.isCorrupt && mayBeDamaged {
                // The files that a damaged store names are not known, so none is deleted.
            }
            // The transaction keeps writers out of the destination.
            let source = try Connection(path: destination, mode: .readOnly, trace: trace)
            try source.execute("PRAGMA cache_size = 16; BEGIN")
            try source.readSchema()
            session.head.swap = .overwrite(
                try SwapIntent.Overwrite(ofSchema: sourceGuard.connection.schemaVersion(), by: source))
            try external.add(from: ExternalData.folder(forStore: destination))
            try overwrite(sourceGuard.handOver(), with: source)
        }
        sourceGuard.release()
    }

    private func overwrite(_ connection: Connection, with source: Connection) throws {
        try connection.execute("PRAGMA synchronous = EXTRA")
        try connection.shareCaches(memory.workingCaches, among: ["main": 1])
        let journal = JournalSwitch(connection: connection, session: session)
        try journal.begin(for: source, largestLogged: largestLogged)
        do {
            try connection.overwrite(with: source) { state in
                try stop.check()
                progress?(ProgressUpdate(phase: .swap, done: state.donePages, total: state.allPages))
                // SQLite commits after these checks.
                guard state.isBeforeCommit else { return }
                try session.checkVerified(destination, of: store.main)
                try checkSnapshot()
                try connection.checkPlace()
            }
        } catch {
            // The first error is reported; the next call restores the rest.
            do { try journal.restore(isDone: false) } catch {}
            throw error
        }
        stop.unitIsDone()
        try connection.checkPlace()
        try journal.restore(isDone: true)
        // No other connection has a part of the new content in the `-wal`.
        connection.keepWriteAheadLogOnClose(false)
        session.head.ended = try journal.lockExclusively().store.withoutLog
    }
}

extension Swap {
    /// A swap for tests.
    package init(_ destination: String, over sourceGuard: SourceGuard, in session: RunSession, largestLogged: Int64) {
        self.init(sourceGuard: sourceGuard, destination: destination, session: session, largestLogged: largestLogged)
    }
}

/// Removes the empty side files of a finished database.
///
/// - Throws: ``FerryError`` when a side file has content: the main file is then not the whole database.
func removeEmptyJournals(of database: String, files: FileLayer) throws {
    let names = StoreFileNames(database)
    // TRUNCATE mode leaves an empty journal behind.
    guard try names.areJournalsEmpty(files: files) else {
        throw FerryError(
            .internalError, "A journal of \(database) is not empty, so it is not a finished store.",
            remedy: "\(action: .again) with \(on: .restart).")
    }
    try names.removeSides(files: files)
}

extension Connection {
    /// - Throws: ``FerryError`` `.sourceChanged` when another file is at the store's path.
    func checkPlace() throws {
        guard try hasMoved() else { return }
        throw FerryError(
            .sourceChanged, "\(path) was replaced or removed during the migration.",
            remedy: """
                The file that is there now was neither migrated nor changed. Close the program that put it \
                there and \(action: .again) with \(on: .restart).
                """)
    }
}

/// The intent of a swap, written before it, from which the next command finds whether the swap has happened.
package enum SwapIntent: Codable, Hashable, Sendable {
    /// One transaction replaces the content of the store's file.
    case overwrite(Overwrite)
    /// A rename moves an output to its free path and keeps its device and inode; only the run may write it before its end.
    case place(Place)

    package struct Overwrite: Codable, Hashable, Sendable {
        /// The old content's `PRAGMA schema_version`, to which the swap adds one; nil if the file was not a database, and
        /// for a step on the store itself.
        private var schemaVersion: Int64?
        /// The new content's version hashes, in hexadecimal.
        private var hashes: [String: String]

        /// The intent of a step on the store itself.
        init(to hashes: [String: [UInt8]]) { self.hashes = hashes.mapValues(\.hexadecimal) }

        init(ofSchema version: Int64?, by source: Connection) throws {
            self.init(to: try StoreMetadata.read(from: source).hashes)
            schemaVersion = version
        }

        /// Whether the database has the new content, or a later state of it.
        func isDone(on connection: Connection) throws -> Bool {
            if let schemaVersion, try connection.schemaVersion() == schemaVersion { return false }
            return try StoreMetadata.read(from: connection).hashes.mapValues(\.hexadecimal) == hashes
        }
    }

    package struct Place: Codable, Hashable, Sendable {
        private var device: UInt64
        private var inode: UInt64
        private var bytes: Int64
        private var modified: Int64

        init(_ file: FileAttributes) {
            (device, inode, bytes, modified) = (file.device, file.inode, file.size, file.modified)
        }

        /// - Throws: ``FerryError`` `.outputExists` when the file is in place and was written to since.
        func isDone(at path: String, files: FileLayer) throws -> Bool {
            guard let file = try files.attributesIfPresent(path), file.device == device, file.inode == inode else {
                return false
            }
            guard file.size == bytes, file.modified == modified else {
                throw FerryError(
                    .outputExists,
                    "\(path) was written by an earlier call of this run and then changed by another program.",
                    remedy: "Move it away, and recreate it with \(on: .restart).")
            }
            return true
        }
    }
}
