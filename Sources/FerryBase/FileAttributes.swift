internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The attributes of a file in the file system, symbolic links followed.
package struct FileAttributes: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    /// Last change of the content, in nanoseconds since 1970.
    package var modified: Int64
    /// Last change of the content or of anything else here, in nanoseconds since 1970; the system alone sets it.
    package var changed: Int64
    /// The permission bits.
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    package var links: UInt64
    package var isDirectory: Bool
    package var isRegularFile: Bool

    init(path: String) throws(SystemError) {
        var info = stat()
        _ = try uninterrupted { stat(path, &info) }
        self.init(info)
    }

    init(descriptor: Int32) throws(SystemError) {
        var info = stat()
        _ = try uninterrupted { fstat(descriptor, &info) }
        self.init(info)
    }

    private init(_ info: stat) {
        device = UInt64(truncatingIfNeeded: info.st_dev)
        inode = UInt64(info.st_ino)
        size = Int64(info.st_size)
        var info = info
        modified = ferry_modified(&info)
        changed = ferry_changed(&info)
        mode = UInt32(info.st_mode) & 0o7777
        owner = UInt32(info.st_uid)
        group = UInt32(info.st_gid)
        links = UInt64(info.st_nlink)
        isDirectory = ferry_is_folder(info.st_mode) != 0
        isRegularFile = ferry_is_regular(info.st_mode) != 0
    }
}

/// What names one state of a file that no connection has open: any write to it shows.
package struct FileState: Codable, Hashable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    private var modified: Int64
    private var changed: Int64

    package init(_ attributes: FileAttributes) {
        device = attributes.device
        inode = attributes.inode
        size = attributes.size
        modified = attributes.modified
        changed = attributes.changed
    }
}
