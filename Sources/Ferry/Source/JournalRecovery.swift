internal import FerryBase
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
public import Foundation

// A program that ends during a write leaves a hot journal, with which SQLite changes the store at the next read. Ferry
// allows that only if the caller asks for it.

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
        return try FerryError.wrapping(on: path) {
            guard try DatabaseFiles.hasHotJournal(path, files: files) else { return nil }
            // The journal of a program that is writing looks hot, but the program holds a lock.
            guard try !Connection(path: path, mode: .readWrite, vfs: files.vfs()).isReserved() else {
                throw FerryError.storeInUse(path)
            }
            let copies = try copyFiles(of: StoreFileNames(path), into: snapshotFolder)
            try Connection(recovering: path, files: files, trace: nil).readSchema()
            guard try !DatabaseFiles.hasHotJournal(path, files: files) else {
                throw FerryError(
                    .hotJournal, "SQLite could not roll back the hot journal of \(path).",
                    remedy: "Copies of both files are in \(copies).")
            }
            return URL(fileURLWithPath: copies)
        }
    }

    /// Copies a store's files into a subfolder that gets its name when the copies are complete.
    private func copyFiles(of store: StoreFileNames, into folder: String) throws -> String {
        try files.createDirectory(folder, mode: 0o755)
        return try files.withWorkFolder(named: "hot-journal", in: folder) { workFolder in
            let copies = workFolder + "/copies"
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
                "\(folder)/\(Snapshot.stamp(Int64(Date().timeIntervalSince1970)))-hot-journal")
            try files.rename(copies, to: place)
            try files.syncFolder(folder)
            try files.syncFolder(FileLayer.parent(of: folder))
            return place
        }
    }
}

extension Connection {
    /// A writer that leaves the `-wal` at its end; at its first read SQLite rolls a hot journal back.
    convenience init(recovering path: String, files: FileLayer, trace: TraceHook?) throws {
        try self.init(path: path, mode: .readWrite, vfs: files.vfs(), trace: trace)
        keepWriteAheadLogOnClose()
        try syncFully()
    }
}
