internal import CSystem

/// An exclusive lock on a file of its own, held until it goes out of use or the process ends.
///
/// The file holds the process id as text, for people. It stays when the lock is released: what removes it must hold
/// the lock.
package struct FileLock: ~Copyable {
    package let path: String
    private let descriptor: Int32

    fileprivate init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    // Closing the only descriptor on the open file releases the lock.
    deinit { _ = close(descriptor) }
}

extension FileLayer {
    /// Takes the lock file at a path, which is made if it is missing.
    ///
    /// - Returns: Nil when another process, or another lock of this one, holds it.
    package func lock(_ path: String) throws(FerryError) -> FileLock? {
        try perform("lock \(path)") { () throws(SystemError) in
            while true {
                let descriptor = try uninterrupted {
                    // Never through a link: what it leads to would be emptied.
                    ferry_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
                }
                do throws(SystemError) {
                    _ = try uninterrupted { flock(descriptor, LOCK_EX | LOCK_NB) }
                    // Between opening and locking, the last holder may have removed the file: then this lock means
                    // nothing, and the path is tried again.
                    guard try Self.isSame(descriptor, path) else {
                        _ = close(descriptor)
                        continue
                    }
                    _ = try uninterrupted { ftruncate(descriptor, 0) }
                    let text = Array("\(getpid())\n".utf8)
                    _ = try uninterrupted { pwrite(descriptor, text, text.count, 0) }
                    return FileLock(path: path, descriptor: descriptor)
                } catch {
                    _ = close(descriptor)
                    if error.number == EWOULDBLOCK { return nil }
                    throw error
                }
            }
        }
    }

    /// Whether a process holds the lock file at a path; asking neither makes it nor writes to it.
    package func isLocked(_ path: String) throws(FerryError) -> Bool {
        guard try exists(path) else { return false }
        let isHeld = try ifPresent { () throws(FerryError) in
            try perform("look at the lock \(path)") { () throws(SystemError) in
                let descriptor = try uninterrupted { ferry_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) }
                defer { _ = close(descriptor) }
                do throws(SystemError) {
                    _ = try uninterrupted { flock(descriptor, LOCK_SH | LOCK_NB) }
                    return false
                } catch {
                    if error.number == EWOULDBLOCK { return true }
                    throw error
                }
            }
        }
        return isHeld == true
    }

    /// The process that last took the lock file; nil when there is none or its text is no number.
    package func lockHolder(_ path: String) throws(FerryError) -> Int32? {
        guard try exists(path) else { return nil }
        let text = String(decoding: try read(path, limit: 64), as: UTF8.self)
        return text.split(separator: "\n").first.flatMap { Int32($0) }
    }

    private static func isSame(_ descriptor: Int32, _ path: String) throws(SystemError) -> Bool {
        let opened = try FileAttributes(descriptor: descriptor)
        do throws(SystemError) {
            let named = try FileAttributes(path: path)
            return opened.isSameFile(as: named)
        } catch {
            if error.isNotFound { return false }
            throw error
        }
    }
}

extension FileLayer {
    /// Runs the body with a folder that only this user may enter, and removes the folder with all that is in it.
    ///
    /// The folder is locked. One that a killed process has left is removed by the next call of the same name in the same
    /// parent folder.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`; what the body throws.
    package func withWorkFolder<Result>(
        named name: String, in parent: String, _ body: (String) throws -> Result
    ) throws -> Result {
        do { try removeWorkFolders(named: name, in: parent) } catch {
            // What is left behind is a matter of tidiness: it must not keep the work from being done.
        }
        while true {
            let folder = try makeWorkFolder(named: name, in: parent)
            do {
                // Nil, or nothing there any more: another call took the folder for a left one.
                guard let lock = try lockIfPresent(folder) else { continue }
                defer { withExtendedLifetime(lock) {} }
                let result = try body(folder)
                try removeLocked(folder)
                return result
            } catch {
                // The first error is the one to report.
                do { try removeLocked(folder) } catch {}
                throw error
            }
        }
    }

    private static let lockName = "/lock"
    private static let removedEnding = ".removed"

    /// Removes a folder whose lock this call holds.
    ///
    /// It loses its name first: while its files go, its own among them, no other call finds a lock to be taken at the old
    /// place, neither one that has just made the folder nor one that looks for left ones.
    private func removeLocked(_ folder: String) throws(FerryError) {
        var removed = folder
        if !folder.hasSuffix(Self.removedEnding) {
            removed += Self.removedEnding
            try rename(folder, to: removed)
        }
        do throws(FerryError) {
            try removeTree(removed)
        } catch {
            // Another call that found it without its lock may have made one, and removes the rest.
            guard try holdsNothing(removed) else { throw error }
        }
    }

    private func holdsNothing(_ folder: String) throws(FerryError) -> Bool {
        let left = try ifPresent { () throws(FerryError) in try firstEntries(of: folder, limit: 2) } ?? []
        return left.allSatisfy { "/" + $0.name == Self.lockName }
    }

    private func lockIfPresent(_ folder: String) throws(FerryError) -> FileLock? {
        do throws(FerryError) {
            return try lock(folder + Self.lockName)
        } catch {
            if error.code == .notFound, try !exists(folder) { return nil }
            throw error
        }
    }

    private func makeWorkFolder(named name: String, in parent: String) throws(FerryError) -> String {
        try perform("make a folder in \(parent)") { () throws(SystemError) in
            var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
            let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
            guard made else { throw .last }
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            faults?.tell(.makesFolder(path))
            return path
        }
    }

    /// Removes folders of this user that no process holds.
    private func removeWorkFolders(named name: String, in parent: String) throws {
        var left: [String] = []
        try forEachEntry(in: parent) { entry in
            // A few at a time: whatever else is in a folder for temporary files is none of ours.
            guard left.count < 64, entry.isDirectory, entry.name.hasPrefix(name + "-") else { return }
            left.append(parent + "/" + entry.name)
        }
        for folder in left where try attributesIfPresent(folder)?.owner == geteuid() {
            guard let lock = try lockIfPresent(folder) else { continue }
            try removeLocked(folder)
            withExtendedLifetime(lock) {}
        }
    }
}
