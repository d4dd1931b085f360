internal import CSystem

/// One name in a folder.
package struct FolderEntry: Sendable, Hashable {
    package var name: String
    /// Whether it is a folder itself; a symbolic link to a folder is not.
    package var isDirectory: Bool
}

extension FileLayer {
    /// The names in a folder, without "." and "..", in no promised order; for folders of bounded size.
    package func list(_ path: String) throws(FerryError) -> [FolderEntry] {
        try firstEntries(of: path, limit: .max)
    }

    /// Names in a folder, as many as the limit allows, in no promised order.
    package func firstEntries(of path: String, limit: Int) throws(FerryError) -> [FolderEntry] {
        let folder = try Folder(path, files: self)
        var entries: [FolderEntry] = []
        while entries.count < limit, let entry = try folder.next() { entries.append(entry) }
        return entries
    }

    /// Hands over the names in a folder one by one, in no promised order.
    package func forEachEntry(in path: String, _ body: (FolderEntry) throws -> Void) throws {
        let folder = try Folder(path, files: self)
        while let entry = try folder.next() { try body(entry) }
    }

    /// Removes a folder with all that is in it, or a file; nothing there is fine.
    ///
    /// Symbolic links are removed, not followed.
    package func removeTree(_ path: String) throws(FerryError) {
        do throws(FerryError) {
            try remove(path)
            return
        } catch {
            if error.code == .notFound { return }
            // What is there is a folder, if it is one.
            guard try attributesIfPresent(path)?.isDirectory == true else { throw error }
        }
        try removePatiently(path) { () throws(FerryError) in
            // In portions: a folder of external data has as many names as it has files.
            while true {
                let portion = try firstEntries(of: path, limit: 512)
                for entry in portion {
                    let child = path + "/" + entry.name
                    if entry.isDirectory { try removeTree(child) } else { try removeIfPresent(child) }
                }
                if portion.count < 512 { break }
            }
            return try removeFolder(path)
        }
    }

    /// Removes a folder with nothing in it, or one whose last names are about to go.
    ///
    /// Over FUSE or a network, a file that is removed while it is open keeps a hidden name until it is closed; removing
    /// that name only makes another. A folder that is another program's by now stays.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` when something stays in it.
    package func removeEmptyFolder(
        _ path: String, unless isTaken: () throws(FerryError) -> Bool
    ) throws(FerryError) {
        try removePatiently(path) { () throws(FerryError) in
            if try removeFolder(path) { return true }
            return try isTaken()
        }
    }

    /// Tries for half a second in all: a hidden name goes as soon as the volume has heard that the file is closed.
    private func removePatiently(
        _ path: String, _ isRemoved: () throws(FerryError) -> Bool
    ) throws(FerryError) {
        for _ in 0..<25 {
            if try isRemoved() { return }
            Clock.wait(milliseconds: 20)
        }
        throw FerryError(
            .fileFailed, "The folder \(path) cannot be removed: what was in it is removed, and there again.",
            remedy: "Look which program has files in it open, end that, and \(action: .again).")
    }

    /// - Returns: False when something is in the folder.
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

/// An open folder.
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
