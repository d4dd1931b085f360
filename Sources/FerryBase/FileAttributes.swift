internal import CSystem

/// The attributes of a file in the file system, symbolic links followed.
package struct FileAttributes: Sendable, Hashable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    /// Last change of the content, in nanoseconds since 1970.
    package var modified: Int64
    /// Last change of the content or of any attribute, in nanoseconds since 1970; only the system sets it.
    package var changed: Int64
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    package var links: UInt64
    package var isDirectory: Bool
    package var isRegularFile: Bool

    /// Whether both belong to one file, also under two names.
    func isSameFile(as other: FileAttributes) -> Bool { device == other.device && inode == other.inode }

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

/// The identity of one state of a file that no connection has open: every write changes it.
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

extension FileLayer {
    /// Copies permissions, owner, group and extended attributes.
    ///
    /// Works by path and opens neither file, so it is safe on open databases. Skips an owner that this process may not
    /// set, and extended attributes that the volume rejects or that only the system sets.
    package func copyMetadata(from path: String, to destination: String) throws(FerryError) {
        let source = try attributes(path)
        let now = try attributes(destination)
        if source.owner != now.owner || source.group != now.group {
            try ifAllowed {
                () throws(FerryError) in
                try call("set the owner of \(destination)") {
                    chown(destination, uid_t(source.owner), gid_t(source.group))
                }
            }
        }
        for name in try extendedAttributeNames(of: path) {
            try ifAllowed {
                () throws(FerryError) in
                guard let value = try extendedAttribute(name, of: path) else { return }
                try setExtendedAttribute(name, of: destination, to: value)
            }
        }
        // Last, because a change of the owner clears the set-user and set-group bits.
        try setMode(source.mode, of: destination)
    }

    package func setMode(_ mode: UInt32, of path: String) throws(FerryError) {
        try call("set the permissions of \(path)") { chmod(path, mode_t(mode)) }
    }

    package func extendedAttributeNames(of path: String) throws(FerryError) -> [String] {
        let names = try perform("list the extended attributes of \(path)") { () throws(SystemError) in
            try Self.sized { buffer in
                let size = ferry_listxattr(
                    path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
                // A volume without extended attributes has none to copy.
                return size == -1 && SystemError.last.isUnsupported ? 0 : size
            }
        }
        return (names ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value of an extended attribute, or nil if the file has none of this name.
    package func extendedAttribute(_ name: String, of path: String) throws(FerryError) -> [UInt8]? {
        try perform("read the extended attribute \(name) of \(path)") { () throws(SystemError) in
            try Self.sized { buffer in ferry_getxattr(path, name, buffer.baseAddress, buffer.count) }
        }
    }

    package func setExtendedAttribute(
        _ name: String, of path: String, to value: [UInt8]
    ) throws(FerryError) {
        try call("set the extended attribute \(name) of \(path)") {
            value.withUnsafeBytes { ferry_setxattr(path, name, $0.baseAddress, $0.count) }
        }
    }

    /// Calls for the size, then for the bytes, and again if they grew in between; nil if the attribute does not exist.
    private static func sized(
        _ call: (UnsafeMutableRawBufferPointer) -> Int
    ) throws(SystemError) -> [UInt8]? {
        while true {
            do throws(SystemError) {
                let size = try uninterrupted { call(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
                if size == 0 { return [] }
                var bytes = [UInt8](repeating: 0, count: size)
                let count = try uninterrupted { bytes.withUnsafeMutableBytes(call) }
                return Array(bytes[..<count])
            } catch {
                if error.number == ferry_no_such_attribute() { return nil }
                if error.number != ERANGE { throw error }
            }
        }
    }

    /// Runs the body; does nothing if the system denies or does not support the operation.
    private func ifAllowed(_ body: () throws(FerryError) -> Void) throws(FerryError) {
        do throws(FerryError) {
            try body()
        } catch {
            guard let cause = error.systemError, cause.isDenied || cause.isUnsupported else { throw error }
        }
    }
}
