internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Files of a store that SQLite cannot read: they are kept aside as they are, and the main file, which stays the same
/// one for every client, gets other content.
struct DamagedStore {
    let store: StoreFileNames
    let files: FileLayer
    var trace: TraceHook?

    /// Replaces the content under SQLite's own lock.
    ///
    /// - Parameters:
    ///   - damage: Why SQLite cannot read it.
    ///   - source: A connection in a transaction that has read the new content.
    ///   - keptFolder: The folder for what is replaced.
    ///   - stop: Asked before the file is emptied.
    ///   - save: Saves, durably, what was kept and what is about to happen.
    /// - Throws: ``FerryError`` `.storeInUse` when another program has the file locked.
    func replace(
        of damage: FerryError, with source: Connection, keepingIn keptFolder: String, stop: StopRequest,
        save: ([String]) throws -> Void
    ) throws {
        let connection = try Connection(
            path: store.main, mode: .readWrite, vfs: files.faults.map { try VFS(temporaryFolder: nil, faults: $0) },
            trace: trace)
        guard !connection.isReadOnly else { throw RollbackPlace.notWritable(store.main) }
        connection.keepWriteAheadLogOnClose()
        try connection.syncFully()
        // A lock that a transaction of this connection takes outlasts it.
        try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        guard try connection.lockFile() else { throw FerryError.storeInUse(store.main) }
        // A journal that has gone by now was that of a writer at work.
        if damage.code == .hotJournal, try (files.attributesIfPresent(store.journal)?.size ?? 0) == 0 {
            throw FerryError.storeInUse(store.main)
        }
        try stop.check()
        let name = try freeName(in: keptFolder)
        try save(try keepMainFile(of: connection, as: name) + keepSideFiles(as: name))
        try removeSideFiles()
        // To SQLite a file without bytes is a database without tables.
        try connection.emptyFile()
        try connection.execute("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = EXTRA")
        try connection.overwrite(with: source) { _ in }
        try connection.checkPlace()
        try files.removeIfPresent(store.journal)
    }

    /// Copies what is beside a main file that is gone, as it is.
    ///
    /// - Parameter keptFolder: The folder for the copies.
    /// - Returns: Their paths.
    /// - Throws: ``FerryError``.
    func keepSideFiles(in keptFolder: String) throws -> [String] {
        try keepSideFiles(as: freeName(in: keptFolder))
    }

    /// What is kept aside durably may go.
    func removeSideFiles() throws {
        for side in [store.log, store.index, store.journal] { try files.removeIfPresent(side) }
        try files.syncFolder(FileLayer.parent(of: store.main))
    }

    private func keepSideFiles(as name: String) throws -> [String] {
        var kept: [String] = []
        for (side, ending) in [(store.log, "-wal"), (store.journal, "-journal")] {
            guard let attributes = try files.attributesIfPresent(side), attributes.size > 0 else { continue }
            try files.copy(side, to: name + ending)
            kept.append(name + ending)
        }
        if !kept.isEmpty { try files.syncFolder(FileLayer.parent(of: name)) }
        return kept
    }

    /// By the connection's own descriptor: closing another one on the file would end its lock.
    private func keepMainFile(of connection: Connection, as name: String) throws -> [String] {
        guard let attributes = try files.attributesIfPresent(store.main), attributes.size > 0 else { return [] }
        var output = try files.create(name, mode: attributes.mode)
        while true {
            let bytes = try connection.rawBytes(count: 256 << 10, at: output.offset)
            if bytes.isEmpty { break }
            try output.write(bytes)
        }
        try output.sync()
        try output.close()
        try files.syncFolder(FileLayer.parent(of: name))
        return [name]
    }

    private func freeName(in folder: String) throws -> String {
        try files.createDirectory(folder)
        let stamp = Date().formatted(.iso8601.timeSeparator(.omitted).dateSeparator(.omitted))
        for number in 1... {
            let name = "\(folder)/\(stamp)-replaced\(number == 1 ? "" : "-\(number)").sqlite"
            let isFree = try ["", "-wal", "-journal"].allSatisfy { try !files.exists(name + $0) }
            if isFree { return name }
        }
        preconditionFailure("some number is free")
    }
}
