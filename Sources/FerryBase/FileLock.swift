internal import CSystem

/// An exclusive lock on a lock file, held until `deinit` or the end of the process.
///
/// The file contains the process id for people. It stays after the release: only the lock's holder may remove it.
package struct FileLock: ~Copyable {
    package let path: String
    private let descriptor: Int32

    fileprivate init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    // The close of the only descriptor releases the lock.
    deinit { _ = close(descriptor) }
}

extension FileLayer {
    /// Locks the lock file at a path, and creates it if it is missing.
    ///
    /// - Returns: Nil if another process, or another lock of this process, holds it.
    package func lock(_ path: String) throws(FerryError) -> FileLock? {
        try perform("lock \(path)") { () throws(SystemError) in
            while true {
                let descriptor = try uninterrupted {
                    // Not through a link: the truncation would empty its target.
                    ferry_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
                }
                do throws(SystemError) {
                    _ = try uninterrupted { flock(descriptor, LOCK_EX | LOCK_NB) }
                    // After the open the last holder may have removed the file: the lock then protects nothing.
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

    /// Whether a process holds the lock file at a path; neither creates nor writes the file.
    package func isLocked(_ path: String) throws(FerryError) -> Bool {
        guard try exists(path) else { return false }
        let isHeld = try ifPresent { () throws(FerryError) in
            try perform("access the lock \(path)") { () throws(SystemError) in
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

    /// The process id in the lock file; nil if the file is missing or contains no number.
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
    /// Runs the body with a new folder for this user only, and then removes the folder with its content.
    ///
    /// The folder has a lock. The next call with the same name and parent removes a folder that a killed process left.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`; any error of the body.
    package func withWorkFolder<Result>(
        named name: String, in parent: String, _ body: (String) throws -> Result
    ) throws -> Result {
        do { try removeWorkFolders(named: name, in: parent) } catch {
            // Leftovers of killed processes must not stop this call.
        }
        while true {
            let folder = try makeWorkFolder(named: name, in: parent)
            do {
                // Nil if another call takes the folder for a leftover.
                guard let lock = try lockIfPresent(folder) else { continue }
                defer { withExtendedLifetime(lock) {} }
                let result = try body(folder)
                try removeTree(folder)
                return result
            } catch {
                // A failed cleanup must not hide the first error.
                do { try removeTree(folder) } catch {}
                throw error
            }
        }
    }

    private static let lockName = "/lock"

    private func lockIfPresent(_ folder: String) throws(FerryError) -> FileLock? {
        do throws(FerryError) {
            return try lock(folder + Self.lockName)
        } catch {
            if error.code == .notFound, try !exists(folder) { return nil }
            throw error
        }
    }

    private func makeWorkFolder(named name: String, in parent: String) throws(FerryError) -> String {
        try perform("create a folder in \(parent)") { () throws(SystemError) in
            var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
            let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
            guard made else { throw .last }
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            faults?.tell(.makesFolder(path))
            return path
        }
    }

    private func removeWorkFolders(named name: String, in parent: String) throws {
        var left: [String] = []
        try forEachEntry(in: parent) { entry in
            // At most 64 a call, for a bounded time.
            guard left.count < 64, entry.isDirectory, entry.name.hasPrefix(name + "-") else { return }
            left.append(parent + "/" + entry.name)
        }
        for folder in left where try attributesIfPresent(folder)?.owner == geteuid() {
            guard let lock = try lockIfPresent(folder) else { continue }
            // While its owner removes it too, it may get a new lock file once its own is gone.
            try removeTree(folder)
            withExtendedLifetime(lock) {}
        }
    }
}
