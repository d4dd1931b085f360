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
        // In portions: a folder of external data has as many names as it has files.
        while true {
            let portion = try firstEntries(of: path, limit: 512)
            if portion.isEmpty { break }
            for entry in portion {
                let child = path + "/" + entry.name
                if entry.isDirectory { try removeTree(child) } else { try removeIfPresent(child) }
            }
        }
        try perform("remove the folder \(path)") { () throws(SystemError) in
            faults?.tell(.removes(path))
            _ = try uninterrupted { rmdir(path) }
        }
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
    #if canImport(Darwin)
        private let handle: UnsafeMutablePointer<DIR>
    #else
        private let handle: OpaquePointer
    #endif
    private let path: String

    init(_ path: String) throws(SystemError) {
        guard let handle = opendir(path) else { throw .last }
        self.handle = handle
        self.path = path
    }

    deinit { closedir(handle) }

    func next() throws(SystemError) -> FolderEntry? {
        while true {
            errno = 0
            guard let entry = readdir(handle) else {
                let error = SystemError.last
                if error.number == 0 { return nil }
                throw error
            }
            // The name is longer than the imported array says on some systems: only its address counts.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let name = String(
                cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            if name == "." || name == ".." { continue }
            let kind = Int32(entry.pointee.d_type)
            let isDirectory: Bool
            if kind == Int32(DT_UNKNOWN) {
                var info = stat()
                let child = path + "/" + name
                _ = try uninterrupted { lstat(child, &info) }
                isDirectory = UInt32(info.st_mode) & UInt32(S_IFMT) == UInt32(S_IFDIR)
            } else {
                isDirectory = kind == Int32(DT_DIR)
            }
            return FolderEntry(name: name, isDirectory: isDirectory)
        }
    }
}
