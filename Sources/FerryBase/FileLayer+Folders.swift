internal import CSystem

package struct FolderEntry: Sendable, Hashable {
    package var name: String
    /// False for a symbolic link to a folder.
    package var isDirectory: Bool
}

extension FileLayer {
    /// Returns the entries of a folder up to a limit, without "." and "..", in no defined order.
    ///
    /// Without a limit, for folders of bounded size.
    package func list(_ path: String, limit: Int = .max) throws(FerryError) -> [FolderEntry] {
        let folder = try Folder(path, files: self)
        var entries: [FolderEntry] = []
        while entries.count < limit, let entry = try folder.next() { entries.append(entry) }
        return entries
    }

    /// Calls the body with each entry of a folder, in no defined order.
    package func forEachEntry(in path: String, _ body: (FolderEntry) throws -> Void) throws {
        let folder = try Folder(path, files: self)
        while let entry = try folder.next() { try body(entry) }
    }

    /// Removes a folder with its content, or a file; does nothing if the path does not exist.
    ///
    /// Symbolic links are removed, not followed. Another call may remove the same folder at the same time.
    package func removeTree(_ path: String) throws(FerryError) {
        do throws(FerryError) {
            try remove(path)
            return
        } catch {
            if error.code == .notFound { return }
            // `unlink` fails on folders.
            guard try attributesIfPresent(path)?.isDirectory == true else {
                // Another call may have removed the folder since.
                if try !exists(path), try !isSymbolicLink(path) { return }
                throw error
            }
        }
        try removeWithRetries(path) { () throws(FerryError) in
            // In portions: a folder of external data may have very many files.
            while true {
                let portion = try ifPresent { () throws(FerryError) in try list(path, limit: 512) } ?? []
                for entry in portion {
                    let child = path + "/" + entry.name
                    if entry.isDirectory { try removeTree(child) } else { try removeIfPresent(child) }
                }
                if portion.count < 512 { break }
            }
            return try ifPresent { () throws(FerryError) in try removeFolder(path) } ?? true
        }
    }

    /// Removes an empty folder, or a folder whose last entries are about to vanish.
    ///
    /// Over FUSE or a network, a file removed while open keeps a hidden name until it is closed; the removal of that
    /// name only makes another. Keeps the folder if `isTaken` says that another program uses it.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` if the folder stays non-empty.
    package func removeEmptyFolder(
        _ path: String, unless isTaken: () throws(FerryError) -> Bool
    ) throws(FerryError) {
        try removeWithRetries(path) { () throws(FerryError) in
            if try removeFolder(path) { return true }
            return try isTaken()
        }
    }

    /// Tries for half a second in all: a hidden name vanishes soon after the close of its file.
    private func removeWithRetries(
        _ path: String, _ isRemoved: () throws(FerryError) -> Bool
    ) throws(FerryError) {
        for _ in 0..<25 {
            if try isRemoved() { return }
            Clock.wait(milliseconds: 20)
        }
        throw FerryError(
            .fileFailed, "The folder \(path) cannot be removed: its contents were removed, but new files appeared.",
            remedy: "Find the program that has files in it open, close it, and \(action: .again).")
    }

    /// - Returns: False if the folder is not empty.
    private func removeFolder(_ path: String) throws(FerryError) -> Bool {
        try perform("remove the folder \(path)") { () throws(SystemError) in
            faults?.tell(.removes(path))
            do throws(SystemError) {
                _ = try uninterrupted { rmdir(path) }
                return true
            } catch {
                guard error.number == ENOTEMPTY || error.number == EEXIST else { throw error }
                return false
            }
        }
    }
}

private struct Folder: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    private let path: String

    init(_ path: String, files: FileLayer) throws(FerryError) {
        handle = try files.perform("read the folder \(path)") { () throws(SystemError) in
            guard let handle = ferry_open_folder(path) else { throw .last }
            return handle
        }
        self.path = path
    }

    deinit { ferry_close_folder(handle) }

    func next() throws(FerryError) -> FolderEntry? {
        var isFolder: Int32 = 0
        if let name = ferry_next_name(handle, &isFolder) {
            return FolderEntry(name: String(cString: name), isDirectory: isFolder != 0)
        }
        let error = SystemError.last
        if error.number == 0 { return nil }
        throw FerryError("read the folder \(path)", error)
    }
}
