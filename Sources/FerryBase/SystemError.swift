internal import CSystem

/// A failed system call: its `errno`.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package var number: Int32

    package init(_ number: Int32) { self.number = number }

    static var last: SystemError { SystemError(ferry_errno()) }
    static let inputOutput = SystemError(EIO)
    static let existing = SystemError(EEXIST)

    var isNotFound: Bool { number == ENOENT || number == ENOTDIR }
    package var isExisting: Bool { number == EEXIST }
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
    /// A limit of the process or file system on file sizes.
    var isBeyondLimit: Bool { number == EFBIG }
    var isDenied: Bool { number == EACCES || number == EPERM || number == EROFS }
    var isUnsupported: Bool { number == ENOTSUP || number == EOPNOTSUPP }

    package var description: String { String(cString: strerror(number)) }
}

extension FerryError {
    init(_ operation: String, _ error: SystemError) {
        let remedy: Remedy =
            if error.isNotFound {
                "Check the path and \(action: .again)."
            } else if error.isFull {
                "Free space on the volume and \(action: .again)."
            } else if error.isBeyondLimit {
                "Raise the limit on the size of files (ulimit -f) and \(action: .again)."
            } else if error.isDenied {
                "Check the permissions of the file and of its folder."
            } else {
                "Check the volume and \(action: .again)."
            }
        self.init(
            error.isNotFound ? .notFound : .fileFailed, "Could not \(operation): \(error).", remedy: remedy,
            cause: error)
    }

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
