internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

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

    /// Hands over the names in a folder one by one, in no promised order.
    package func forEachEntry(in path: String, _ body: (FolderEntry) throws -> Void) throws {
        let folder = try perform("read the folder \(path)") { () throws(SystemError) in try Folder(path) }
        while let entry = try next(of: folder, at: path) { try body(entry) }
    }

    private func next(of folder: borrowing Folder, at path: String) throws(FerryError) -> FolderEntry? {
        do throws(SystemError) {
            return try folder.next()
        } catch {
            throw FerryError("read the folder \(path)", error)
        }
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
        for _ in 0..<Self.patience {
            // In portions: a folder of external data has as many names as it has files.
            while true {
                let portion = try firstEntries(of: path, limit: Self.portion)
                for entry in portion {
                    let child = path + "/" + entry.name
                    if entry.isDirectory { try removeTree(child) } else { try removeIfPresent(child) }
                }
                if portion.count < Self.portion { break }
            }
            if try removeFolder(path) { return }
            Clock.wait(milliseconds: Self.waitMilliseconds)
        }
        throw stillFull(path)
    }

    /// Removes a folder with nothing in it, or one whose last names are about to go.
    ///
    /// Over FUSE or a network, a file that is removed while it is open keeps a hidden name until it is closed; removing
    /// that name only makes another.
    ///
    /// - Parameters:
    ///   - path: The folder.
    ///   - isTaken: Whether the folder is another program's by now: then it stays.
    /// - Throws: ``FerryError`` `.fileFailed` when something stays in it.
    package func removeEmptyFolder(
        _ path: String, unless isTaken: () throws(FerryError) -> Bool
    ) throws(FerryError) {
        for _ in 0..<Self.patience {
            if try removeFolder(path) { return }
            if try isTaken() { return }
            Clock.wait(milliseconds: Self.waitMilliseconds)
        }
        throw stillFull(path)
    }

    /// Half a second in all: such a name goes as soon as the volume has heard that the file is closed.
    private static var patience: Int { 25 }
    private static var waitMilliseconds: Int { 20 }
    private static var portion: Int { 512 }

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

    private func stillFull(_ path: String) -> FerryError {
        FerryError(
            .fileFailed, "The folder \(path) cannot be removed: what was in it is removed, and there again.",
            remedy: "Look which program has files in it open, end that, and \(action: .again).")
    }

    /// Names in a folder, as many as the limit allows, in no promised order.
    package func firstEntries(of path: String, limit: Int) throws(FerryError) -> [FolderEntry] {
        let folder = try perform("read the folder \(path)") { () throws(SystemError) in try Folder(path) }
        var entries: [FolderEntry] = []
        while entries.count < limit, let entry = try next(of: folder, at: path) { entries.append(entry) }
        return entries
    }
}

/// An open folder.
private struct Folder: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    private let path: String

    init(_ path: String) throws(SystemError) {
        guard let handle = ferry_open_folder(path) else { throw .last }
        self.handle = handle
        self.path = path
    }

    deinit { ferry_close_folder(handle) }

    func next() throws(SystemError) -> FolderEntry? {
        while true {
            var kind: Int32 = 0
            guard let bytes = ferry_next_name(handle, &kind) else {
                let error = SystemError.last
                if error.number == 0 { return nil }
                throw error
            }
            let name = String(cString: bytes)
            if name == "." || name == ".." { continue }
            guard kind < 0 else { return FolderEntry(name: name, isDirectory: kind == 1) }
            var info = stat()
            let child = path + "/" + name
            _ = try uninterrupted { lstat(child, &info) }
            return FolderEntry(name: name, isDirectory: ferry_is_folder(info.st_mode) != 0)
        }
    }
}
