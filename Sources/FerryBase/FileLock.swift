#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

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
    deinit { _ = systemClose(descriptor) }
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
                    systemOpen(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
                }
                do throws(SystemError) {
                    _ = try uninterrupted { flock(descriptor, LOCK_EX | LOCK_NB) }
                    // Between opening and locking, the last holder may have removed the file: then this lock means
                    // nothing, and the path is tried again.
                    guard try Self.isSame(descriptor, path) else {
                        _ = systemClose(descriptor)
                        continue
                    }
                    _ = try uninterrupted { ftruncate(descriptor, 0) }
                    let text = Array("\(getpid())\n".utf8)
                    _ = try uninterrupted { pwrite(descriptor, text, text.count, 0) }
                    return FileLock(path: path, descriptor: descriptor)
                } catch {
                    _ = systemClose(descriptor)
                    if error.number == EWOULDBLOCK { return nil }
                    throw error
                }
            }
        }
    }

    /// Whether a process holds the lock file at a path; asking neither makes it nor writes to it.
    package func isLocked(_ path: String) throws(FerryError) -> Bool {
        guard try exists(path) else { return false }
        return try perform("look at the lock \(path)") { () throws(SystemError) in
            let descriptor: Int32
            do throws(SystemError) {
                descriptor = try uninterrupted { systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) }
            } catch {
                if error.isNotFound { return false }
                throw error
            }
            defer { _ = systemClose(descriptor) }
            do throws(SystemError) {
                _ = try uninterrupted { flock(descriptor, LOCK_SH | LOCK_NB) }
                return false
            } catch {
                if error.number == EWOULDBLOCK { return true }
                throw error
            }
        }
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
            return opened.device == named.device && opened.inode == named.inode
        } catch {
            if error.isNotFound { return false }
            throw error
        }
    }
}
