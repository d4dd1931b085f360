internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension FileLayer {
    /// Gives a file the permissions, owner, group and extended attributes of another.
    ///
    /// Works by path alone and opens neither file, so that it is safe on open databases. An owner that this process
    /// may not give, and attributes that the volume does not take or that only the system sets, are left out.
    ///
    /// - Returns: What could not be carried over, as words for a report.
    @discardableResult
    package func copyMetadata(from path: String, to destination: String) throws(FerryError) -> [String] {
        let source = try attributes(path)
        let now = try attributes(destination)
        var left: [String] = []
        if source.owner != now.owner || source.group != now.group {
            let changed = try tolerating {
                () throws(FerryError) in
                try perform("set the owner of \(destination)") { () throws(SystemError) in
                    _ = try uninterrupted { chown(destination, uid_t(source.owner), gid_t(source.group)) }
                }
            }
            if !changed { left.append("owner") }
        }
        for name in try extendedAttributeNames(of: path) {
            let copied = try tolerating {
                () throws(FerryError) in
                guard let value = try extendedAttribute(name, of: path) else { return }
                try setExtendedAttribute(name, of: destination, to: value)
            }
            if !copied { left.append(name) }
        }
        // Last: changing the owner clears the set-user and set-group bits.
        try perform("set the permissions of \(destination)") { () throws(SystemError) in
            _ = try uninterrupted { chmod(destination, mode_t(source.mode)) }
        }
        return left
    }

    /// Sets the permission bits of a file.
    package func setMode(_ mode: UInt32, of path: String) throws(FerryError) {
        try perform("set the permissions of \(path)") { () throws(SystemError) in
            _ = try uninterrupted { chmod(path, mode_t(mode)) }
        }
    }

    package func extendedAttributeNames(of path: String) throws(FerryError) -> [String] {
        let operation = "list the extended attributes of \(path)"
        let bytes: [UInt8]?
        do throws(FerryError) {
            bytes = try perform(operation) { () throws(SystemError) in
                try Self.sized { buffer in
                    ferry_listxattr(path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
                }
            }
        } catch {
            // A volume without extended attributes has none to carry.
            guard let cause = error.systemError, cause.number == ENOTSUP || cause.number == EOPNOTSUPP else {
                throw error
            }
            return []
        }
        return (bytes ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value of an extended attribute, or nil when the file has none of that name.
    package func extendedAttribute(_ name: String, of path: String) throws(FerryError) -> [UInt8]? {
        try perform("read the extended attribute \(name) of \(path)") { () throws(SystemError) in
            try Self.sized { buffer in ferry_getxattr(path, name, buffer.baseAddress, buffer.count) }
        }
    }

    package func setExtendedAttribute(
        _ name: String, of path: String, to value: [UInt8]
    ) throws(FerryError) {
        try perform("set the extended attribute \(name) of \(path)") { () throws(SystemError) in
            _ = try uninterrupted {
                value.withUnsafeBytes { ferry_setxattr(path, name, $0.baseAddress, $0.count) }
            }
        }
    }

    /// Calls for a size, then for the bytes, again when they grew in between; nil when there is no such attribute.
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

    /// Runs the body.
    ///
    /// - Returns: False when it failed because the system does not allow or know this.
    private func tolerating(_ body: () throws(FerryError) -> Void) throws(FerryError) -> Bool {
        do throws(FerryError) {
            try body()
            return true
        } catch {
            guard let cause = error.systemError, cause.isDenied || [ENOTSUP, EOPNOTSUPP].contains(cause.number) else {
                throw error
            }
            return false
        }
    }
}
