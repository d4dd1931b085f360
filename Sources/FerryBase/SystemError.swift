#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A failed system call: its `errno`.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package var number: Int32

    package init(_ number: Int32) { self.number = number }

    static var last: SystemError { SystemError(errno) }
    static let inputOutput = SystemError(EIO)
    static let existing = SystemError(EEXIST)

    package var isNotFound: Bool { number == ENOENT || number == ENOTDIR }
    package var isExisting: Bool { number == EEXIST }
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
    /// A limit on the size of files, of the process or of the file system.
    package var isBeyondLimit: Bool { number == EFBIG }
    package var isDenied: Bool { number == EACCES || number == EPERM || number == EROFS }

    package var description: String { String(cString: strerror(number)) }
}

extension FerryError {
    /// A failed file operation as the user meets it; the ``SystemError`` is its cause.
    init(_ operation: String, _ error: SystemError) {
        if error.isNotFound {
            self.init(
                .notFound, "Could not \(operation): \(error).", remedy: "Check the path and \(action: .again).",
                cause: error)
        } else if error.isFull {
            self.init(
                .fileFailed, "Could not \(operation): \(error).",
                remedy: "Make room on the volume and \(action: .again).", cause: error)
        } else if error.isBeyondLimit {
            self.init(
                .fileFailed, "Could not \(operation): \(error).",
                remedy: "Raise the limit on the size of files (ulimit -f) and \(action: .again).", cause: error)
        } else if error.isDenied {
            self.init(
                .fileFailed, "Could not \(operation): \(error).",
                remedy: "Check the permissions of the file and of its folder.", cause: error)
        } else {
            self.init(
                .fileFailed, "Could not \(operation): \(error).",
                remedy: "Check the volume and \(action: .again).", cause: error)
        }
    }

    /// The system error that a failed file operation came from.
    package var systemError: SystemError? { cause as? SystemError }
}

/// Repeats a system call that a signal interrupted.
func uninterrupted<Result: FixedWidthInteger>(_ call: () -> Result) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let error = SystemError.last
        if error.number != EINTR { throw error }
    }
}
