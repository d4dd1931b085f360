internal import FerryBase
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
public import Foundation

/// Lets SQLite roll back a store's hot journal, after both files were copied.
///
/// A program that ends during a write leaves a hot journal, with which SQLite changes the store at the next read. Ferry
/// allows that only if the caller asks for it.
struct JournalRecovery {
    let store: StoreFileNames
    /// The parent of the folder with the copies.
    let snapshotFolder: String
    let files: FileLayer
    let vfs: VFS?
    let trace: TraceHook?

    /// - Returns: The folder with the copies; nil if there is no hot journal, and nothing was done.
    /// - Throws: ``FerryError`` `.storeInUse` while a program is writing; a failed copy's error, before any change.
    func run() throws -> String? {
        try FerryError.wrapping(on: store.main) {
            guard try isHot() else { return nil }
            guard try !isBeingWritten() else { throw FerryError.storeInUse(store.main) }
            let copies = try copy()
            try rollBack()
            guard try !isHot() else {
                throw FerryError(
                    .hotJournal, "SQLite could not roll back the hot journal of \(store.main).",
                    remedy: "Copies of both files are in \(copies).")
            }
            return copies
        }
    }

    /// To be called before any connection of this process has the store open.
    private func isHot() throws -> Bool { try DatabaseFiles.hasHotJournal(store.main, files: files) }

    /// Whether a program is writing: its journal looks hot, but the program holds a lock.
    private func isBeingWritten() throws -> Bool {
        try Connection(path: store.main, mode: .readWrite, vfs: vfs, trace: trace).isReserved()
    }

    /// Copies the store's files into a folder that gets its name when the copies are complete.
    private func copy() throws -> String {
        try files.createDirectory(snapshotFolder, mode: 0o755)
        return try files.withWorkFolder(named: "hot-journal", in: snapshotFolder) { folder in
            let copies = folder + "/copies"
            try files.createDirectory(copies, mode: 0o700)
            // The -wal is not rolled back here, but copied for later use.
            let present = try [store.main, store.journal, store.log].filter { try files.exists($0) }
            let before = try present.map { try files.attributes($0) }
            for file in present { try files.copy(file, to: copies + "/" + FileLayer.name(of: file)) }
            guard try present.map({ try files.attributes($0) }) == before else {
                throw FerryError.storeInUse(store.main)
            }
            try files.syncFolder(copies)
            let place = try files.freePath(
                "\(snapshotFolder)/\(Snapshot.stamp(Int64(Date().timeIntervalSince1970)))-hot-journal")
            try files.rename(copies, to: place)
            try files.syncFolder(snapshotFolder)
            try files.syncFolder(FileLayer.parent(of: snapshotFolder))
            return place
        }
    }

    /// Reads the store, at which SQLite rolls the journal back.
    private func rollBack() throws {
        let connection = try Connection(path: store.main, mode: .readWrite, vfs: vfs, trace: trace)
        connection.keepWriteAheadLogOnClose()
        try connection.syncFully()
        try connection.readSchema()
        withExtendedLifetime(connection) {}
    }
}

extension StoreFiles {
    /// Lets SQLite roll back the changes of a program that was interrupted while writing to the store.
    ///
    /// - Parameter folder: The folder of the snapshots, for copies of the store and its journal as they are; nil means
    ///   `STORE.snapshots`.
    /// - Returns: The folder with the copies; nil if there was no hot journal, and nothing was done.
    /// - Throws: ``FerryError`` `.storeInUse` while a program is writing; a failed copy's error, before any change.
    @discardableResult
    public func recoverJournal(snapshots folder: URL? = nil) throws -> URL? {
        let path = try RunPlace.existing(store.filePath, files: files)
        let snapshotFolder = folder?.filePath ?? StoreSnapshots.folder(of: path)
        try WritePlace(beside: [path], files: files).checkSnapshotFolder(snapshotFolder)
        let recovery = JournalRecovery(
            store: StoreFileNames(path), snapshotFolder: snapshotFolder, files: files, vfs: try files.vfs(), trace: nil)
        return try recovery.run().map { URL(fileURLWithPath: $0) }
    }
}
