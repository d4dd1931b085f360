package import FerryBase
internal import FerryStore
internal import Foundation

/// The folder of an unfinished run, held by its lock, beside the run's result, so that the last step is a rename.
package final class RunFolder {
    package let path: String
    let files: FileLayer
    /// Nil after the folder is removed.
    private var lock: FileLock?
    private(set) var record: RunRecord?

    /// The run folder for a store, or for an output.
    package static func path(beside file: String) -> String { file + ".ferry" }

    /// Takes the folder's lock, and makes the folder if it is missing.
    ///
    /// - Throws: ``FerryError`` `.runActive` while another run holds it.
    package init(path: String, files: FileLayer) throws {
        self.path = path
        self.files = files
        try files.refuseLink(path)
        if let attributes = try files.attributesIfPresent(path), !attributes.isDirectory {
            throw FerryError(
                .runDiffers, "\(path) is not a folder, but Ferry needs that name for its run folder.",
                remedy: "Move it elsewhere.")
        }
        // Only the owner may read the rows in the folder, whatever the permissions of the store's folder.
        let isNew = try !files.exists(path)
        try files.createDirectory(path, mode: 0o700)
        // Without a sync, a power cut could remove the whole run.
        if isNew { try files.syncFolder(FileLayer.parent(of: path)) }
        guard let lock = try Self.lock(path + "/lock", files: files) else {
            let holder = try files.lockHolder(path + "/lock").map { " by process \($0)" } ?? ""
            throw FerryError(
                .runActive, "A migration of this store is already running: \(path) is locked\(holder).",
                remedy: "Wait for it to end, or stop it and \(action: .again) to continue it.")
        }
        self.lock = consume lock
    }

    /// Retries, since a program that only reads the state of a run holds the lock for a moment, too.
    private static func lock(_ path: String, files: FileLayer) throws -> FileLock? {
        for _ in 0..<5 {
            if let lock = try files.lock(path) { return lock }
            Clock.wait(milliseconds: 20)
        }
        return nil
    }

    private static let ownNames: Set = [
        "lock", "run.json", "run.json.new", "progress.json", "progress.json.new", "call.json", "call.json.new",
        "control.json", "control.json.new",
        // Of earlier tools.
        "pages.json", "pages.json.new",
    ]

    /// Reads the record of the run in the folder.
    ///
    /// A restart ignores a record that cannot be read.
    ///
    /// - Returns: Nil for a new folder.
    /// - Throws: ``FerryError`` `.runDiffers` when the folder does not contain a run, or has an unknown form.
    package func load(restart: Bool = false) throws -> RunRecord? {
        try Self.checkIsOwn(path, files: files)
        do {
            record = try Self.read(path, files: files)
            return record
        } catch let error as FerryError where restart && error.code == .runDiffers {
            return nil
        }
    }

    /// Checks that the folder at the path, if there is one, was made by a run, which writes its record first and deletes it
    /// last.
    ///
    /// - Throws: ``FerryError`` `.runDiffers`.
    static func checkIsOwn(_ path: String, files: FileLayer) throws {
        guard try exists(path, files: files) else { return }
        let record = path + "/run.json"
        if try files.exists(record) {
            if String(decoding: try files.read(record), as: UTF8.self).contains("\"ferry\"") { return }
        } else if try files.list(path).allSatisfy({ ownNames.contains($0.name) }) {
            return
        }
        throw FerryError(
            .runDiffers, "\(path) is not the folder of a run: Ferry has not made it, and needs its name.",
            remedy: "Move it elsewhere.")
    }

    static func exists(_ path: String, files: FileLayer) throws -> Bool {
        try files.attributesIfPresent(path)?.isDirectory == true
    }

    /// The record in a run folder, read without its lock; nil if there is none.
    static func read(_ path: String, files: FileLayer) throws -> RunRecord? {
        let file = path + "/run.json"
        guard try files.exists(file) else { return nil }
        let bytes = try files.read(file)
        struct Form: Decodable { var ferry: Int }
        do {
            let form = try JSONDecoder().decode(Form.self, from: Data(bytes))
            guard form.ferry == RunRecord.format else {
                throw FerryError(
                    .runDiffers,
                    "\(file) has format \(form.ferry); this version of Ferry supports format \(RunRecord.format).",
                    remedy: "Finish the run with the version that started it, or discard it with \(on: .restart).")
            }
            let record = try JSONDecoder().decode(RunRecord.self, from: Data(bytes))
            if (record.kind == .migration) != (record.migration != nil) || record.migration?.isPlausible == false {
                throw FerryError(
                    .runDiffers, "\(file) is damaged: its steps are inconsistent.",
                    remedy: "\(on: .restart) discards the unfinished run.")
            }
            return record
        } catch let error as FerryError {
            throw error
        } catch {
            throw FerryError(
                .runDiffers, "\(file) is not a readable record of a run.",
                remedy: "\(on: .restart) discards the unfinished run.", cause: error)
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

    /// Checks that the folder is at the path in its journals, before SQLite opens any file in it.
    ///
    /// - Throws: ``FerryError`` `.runMoved` when it was moved during one of its transactions: the journals name the
    ///   super-journal by its absolute path, and without it SQLite would take half a transaction for a whole one.
    package func checkPlace() throws {
        guard var record else { return }
        let (now, recorded) = (try place, record.folder)
        guard now != recorded else { return }
        // One folder has several paths if names ignore case, or if a volume is mounted twice. The journals are valid
        // while their path leads to this folder.
        let there = try files.attributesIfPresent(recorded.path)
        let isSame =
            there?.device == now.device && there?.inode == now.inode
            && recorded.device == now.device && recorded.inode == now.inode
        if !isSame, let journal = try openJournal(in: path) {
            throw FerryError(
                .runMoved,
                "\(path) was at \(recorded.path) when its run was interrupted, and \(journal) is unfinished.",
                remedy: "Move the folder back and \(action: .again) there, or discard the run with \(on: .restart).")
        }
        record.folder = now
        try save(record)
    }

    /// A journal that is not empty, or a super-journal; TRUNCATE mode leaves empty journals.
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

    /// Checks that the folder holds nothing of a finished run that another run would use.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`.
    func requireEmpty() throws {
        guard try Self.read(path, files: files) != nil else { return }
        throw FerryError(
            .fileFailed, "\(path) still contains files of a finished run, which could not be removed.",
            remedy: "See the warning above, and \(action: .again).")
    }

    /// Removes all content of the folder except the lock.
    package func clear() throws {
        // The record is deleted last: until then the folder is known as that of a run.
        for entry in try files.list(path) where !["lock", "run.json"].contains(entry.name) {
            try files.removeTree(path + "/" + entry.name)
        }
        try files.removeIfPresent(path + "/run.json")
        record = nil
    }

    /// Removes the folder with its content, and releases the lock.
    package func remove() throws {
        try clear()
        // The lock file is deleted while it is locked, so that no other program locks it. It must then be closed, since
        // some volumes keep an open file under a hidden name. After that the folder may belong to another run.
        let name = path + "/lock"
        try files.removeIfPresent(name)
        lock = nil
        try files.removeEmptyFolder(path) { () throws(FerryError) in try files.exists(name) }
        try files.syncFolder(FileLayer.parent(of: path))
    }
}

extension FileLayer {
    /// Refuses a symbolic link at the path of a folder that Ferry uses and empties: its target may be any folder.
    ///
    /// - Throws: ``FerryError`` `.runDiffers`.
    func refuseLink(_ path: String) throws(FerryError) {
        guard try isSymbolicLink(path) else { return }
        throw FerryError(
            .runDiffers, "\(path) is a symbolic link, but Ferry needs a folder of its own there.",
            remedy: "Remove the link; its target was not touched.")
    }
}
