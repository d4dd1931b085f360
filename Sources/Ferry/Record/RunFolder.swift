package import FerryBase
internal import FerryStore
internal import Foundation

/// The folder of one unfinished run, held by its lock.
///
/// It stands beside the file that the run will make, so that the last step is a rename on one volume.
package final class RunFolder {
    package let path: String
    let files: FileLayer
    /// Nil once the folder is removed.
    private var lock: FileLock?
    private(set) var record: RunRecord?

    /// Where the run of a store, or of an output, has its folder.
    package static func path(beside file: String) -> String { file + ".ferry" }

    /// Takes the folder's lock; makes the folder where there is none.
    ///
    /// - Throws: ``FerryError`` `.runActive` while another run holds it.
    package init(path: String, files: FileLayer) throws {
        self.path = path
        self.files = files
        try files.refuseLink(path)
        if let attributes = try files.attributesIfPresent(path), !attributes.isDirectory {
            throw FerryError(
                .runDiffers, "\(path) is no folder, but Ferry needs that name for the run.",
                remedy: "Move it elsewhere.")
        }
        // The rows in it are for its owner alone, whatever the permissions of the store's folder.
        let isNew = try !files.exists(path)
        try files.createDirectory(path, mode: 0o700)
        // Else a power cut could take the whole run with it.
        if isNew { try files.syncFolder(FileLayer.parent(of: path)) }
        guard let lock = try Self.lock(path + "/lock", files: files) else {
            let holder = try files.lockHolder(path + "/lock").map { " by process \($0)" } ?? ""
            throw FerryError(
                .runActive, "A run on this store is active: \(path) is locked\(holder).",
                remedy: "Wait for it to end, or stop it; then \(action: .again), which goes on with its work.")
        }
        self.lock = consume lock
    }

    /// A program that only reads the state of a run holds the lock for a moment, too.
    private static func lock(_ path: String, files: FileLayer) throws -> FileLock? {
        for _ in 0..<5 {
            if let lock = try files.lock(path) { return lock }
            Clock.wait(milliseconds: 20)
        }
        return nil
    }

    private static let ownNames: Set = [
        "lock", "run.json", "run.json.new", "progress.json", "progress.json.new", PageMark.fileName,
        PageMark.fileName + ".new",
    ]

    /// Reads the record of the run that the folder holds.
    ///
    /// - Returns: Nil when the folder is a new one.
    /// - Throws: ``FerryError`` `.runDiffers` when what stands there is no run, or one of a form that this version
    ///   does not know.
    package func load() throws -> RunRecord? {
        record = try Self.read(path, files: files)
        let others = try files.list(path).filter { !Self.ownNames.contains($0.name) }
        if record == nil, !others.isEmpty {
            throw FerryError(
                .runDiffers, "\(path) holds files, but no run.json of a run.",
                remedy: "Look at it; \(on: .restart) removes it.")
        }
        return record
    }

    /// As ``load()``; for a restart, what cannot be read counts as nothing.
    func load(restart: Bool) throws -> RunRecord? {
        do {
            return try load()
        } catch let error as FerryError where restart && error.code == .runDiffers {
            return nil
        }
    }

    /// Whether a folder of a run is there.
    static func exists(_ path: String, files: FileLayer) throws -> Bool {
        try files.attributesIfPresent(path)?.isDirectory == true
    }

    /// What a run folder's `run.json` says, without taking the lock; nil when there is none.
    static func read(_ path: String, files: FileLayer) throws -> RunRecord? {
        let file = path + "/run.json"
        guard try files.exists(file) else { return nil }
        let bytes = try files.read(file)
        struct Form: Decodable { var ferry: Int }
        do {
            let form = try JSONDecoder().decode(Form.self, from: Data(bytes))
            guard form.ferry == RunRecord.format else {
                throw FerryError(
                    .runDiffers, "\(file) has form \(form.ferry); this version of Ferry knows \(RunRecord.format).",
                    remedy: "Finish the run with the version that began it, or drop it with \(on: .restart).")
            }
            let record = try JSONDecoder().decode(RunRecord.self, from: Data(bytes))
            guard record.migration?.isPlausible ?? true else {
                throw FerryError(
                    .runDiffers, "\(file) is damaged: the steps that it names do not fit together.",
                    remedy: "\(on: .restart) drops the unfinished run.")
            }
            return record
        } catch let error as FerryError {
            throw error
        } catch {
            throw FerryError(
                .runDiffers, "\(file) cannot be read as the record of a run.",
                remedy: "\(on: .restart) drops the unfinished run.", cause: error)
        }
    }

    package var place: RunRecord.Place {
        get throws {
            let attributes = try files.attributes(path)
            return RunRecord.Place(
                path: try files.realPath(path), device: attributes.device, inode: attributes.inode)
        }
    }

    /// The folder of a step, counted from 1.
    package func stepFolder(_ step: Int) -> String { "\(path)/step-\(step)" }

    package func save(_ record: RunRecord) throws {
        let bytes = try JSONEncoder.bytes(of: record, "The record of the run")
        try files.replace(path + "/run.json", with: bytes, mode: 0o600)
        self.record = record
    }

    /// Looks whether the folder is where its journals say, before SQLite opens any file in it.
    ///
    /// - Throws: ``FerryError`` `.runMoved` when it was moved while one of its transactions was open: the journals name
    ///   the super-journal by its absolute path, and half a transaction would be taken for a whole one.
    package func checkPlace() throws {
        guard var record else { return }
        let now = try place
        guard now != record.folder else { return }
        // Where case counts for nothing in names, or where a volume is mounted twice, one folder has several paths. The
        // journals hold as long as theirs leads here.
        let there = try files.attributesIfPresent(record.folder.path)
        let isSame =
            there?.device == now.device && there?.inode == now.inode
            && record.folder.device == now.device && record.folder.inode == now.inode
        if !isSame, let journal = try openJournal(in: path) {
            throw FerryError(
                .runMoved,
                "\(path) was at \(record.folder.path) when its run was interrupted, and \(journal) is unfinished.",
                remedy: "Move the folder back and \(action: .again) there, or drop the run with \(on: .restart).")
        }
        record.folder = now
        try save(record)
    }

    /// A journal with something in it, or a super-journal; TRUNCATE mode leaves empty journals behind.
    private func openJournal(in folder: String) throws -> String? {
        for entry in try files.list(folder) {
            let file = folder + "/" + entry.name
            if entry.isDirectory {
                if let journal = try openJournal(in: file) { return journal }
            } else if entry.name.contains("-mj") {
                return file
            } else if entry.name.hasSuffix("-journal"), try files.attributes(file).size > 0 {
                return file
            }
        }
        return nil
    }

    /// Looks whether a run that was finished has left anything that another one would take for its own.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`.
    func requireEmpty() throws {
        guard try Self.read(path, files: files) != nil else { return }
        throw FerryError(
            .fileFailed, "\(path) still holds what a finished run has left, and cleaning up behind it failed.",
            remedy: "Look at the warning before this, and \(action: .again).")
    }

    /// Takes everything but the lock out of the folder.
    package func clear() throws {
        // The record goes last: until then the leftovers are known as a run's.
        for entry in try files.list(path) where !["lock", "run.json"].contains(entry.name) {
            try files.removeTree(path + "/" + entry.name)
        }
        try files.removeIfPresent(path + "/run.json")
        record = nil
    }

    /// Removes the folder with everything in it, and lets go of the lock.
    package func remove() throws {
        try clear()
        // The name goes while the lock is held, so that no other program takes it for its own; then the file is closed,
        // without which some volumes keep it under a hidden name. From there on the folder may be another run's.
        let name = path + "/lock"
        try files.removeIfPresent(name)
        lock = nil
        try files.removeEmptyFolder(path) { () throws(FerryError) in try files.exists(name) }
        try files.syncFolder(FileLayer.parent(of: path))
    }
}

extension FileLayer {
    /// Refuses a symbolic link where a folder is to be worked in, and emptied: what it leads to may be anything.
    ///
    /// - Throws: ``FerryError`` `.runDiffers`.
    func refuseLink(_ path: String) throws(FerryError) {
        guard try isSymbolicLink(path) else { return }
        throw FerryError(
            .runDiffers, "\(path) is a symbolic link, but Ferry needs a folder of its own there.",
            remedy: "Remove the link; what it leads to was not touched.")
    }
}

/// The paths of one migration, without symbolic links.
struct RunPlace: Sendable {
    let store: String
    /// Where the migrated store goes when it does not replace the store.
    let output: String?
    /// Whether the external files beside the result are its own alone.
    ///
    /// Two stores share them whose names differ only in their extension; where a folder takes several spellings for one
    /// name, or a link leads from one to the other, so do others.
    let ownsExternalFiles: Bool

    /// - Throws: ``FerryError`` `.notFound` when there is no store, or no folder for the output.
    init(store: String, output: String?, files: FileLayer) throws(FerryError) {
        self.store = try Self.existing(store, files: files)
        guard let output else {
            self.output = nil
            ownsExternalFiles = true
            return
        }
        let place = try Self.place(output, files: files)
        self.output = place
        ownsExternalFiles = try !files.leadToOne(
            ExternalData.folder(forStore: self.store), ExternalData.folder(forStore: place))
    }

    /// A path where something may stand: its folder must be there.
    static func place(_ path: String, files: FileLayer) throws(FerryError) -> String {
        if try files.exists(path) { return try files.realPath(path) }
        let folder = FileLayer.parent(of: path)
        guard try files.attributesIfPresent(folder)?.isDirectory == true else {
            throw FerryError(
                .notFound, "There is no folder \(folder) for \(FileLayer.name(of: path)).",
                remedy: "Make it, or check the path.")
        }
        let real = try files.realPath(folder)
        return (real == "/" ? "" : real) + "/" + FileLayer.name(of: path)
    }

    static func existing(_ store: String, files: FileLayer) throws(FerryError) -> String {
        guard try files.exists(store) else {
            throw FerryError(.notFound, "There is no store at \(store).", remedy: "Check the path.")
        }
        return try files.realPath(store)
    }

    /// The main file of the store with the new version, once there is one.
    var result: String { output ?? store }

    var runFolder: String { RunFolder.path(beside: result) }

    /// Whether another spelling of the output leads to this one: both have one run folder.
    func isOutput(_ other: String?, files: FileLayer) throws(FerryError) -> Bool {
        guard let output, let other, output != other else { return output == other }
        return try files.leadToOne(RunFolder.path(beside: output), RunFolder.path(beside: other))
    }

    /// Refuses to write over anything.
    func checkOutput(files: FileLayer) throws(FerryError) {
        guard let output else { return }
        try StoreFileNames(output).checkNothingIsThere(files: files)
    }
}

extension FileLayer {
    /// What a file of JSON holds; nil when there is none, or what is there is another: of another version of Ferry, or torn.
    func decoded<Content: Decodable>(_ type: Content.Type, at path: String) throws -> Content? {
        guard try exists(path) else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(read(path)))
        } catch is DecodingError {
            return nil
        }
    }
}

extension JSONEncoder {
    /// A value as the files beside a store have it, for people to read; an error names it by its title.
    static func bytes(of value: some Encodable, _ title: String) throws(FerryError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw FerryError(.internalError, "\(title) cannot be written as JSON.", cause: error)
        }
    }
}
