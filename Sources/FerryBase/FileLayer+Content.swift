internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension FileLayer {
    /// How a file came to have the content of another.
    package enum CopyMethod: String, Sendable {
        /// Copy-on-write: shares its blocks until one of the two is changed.
        case reflink
        /// A second name of the same file.
        case hardLink
        case bytes
    }

    /// Reads a whole file of bounded size.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` when it is larger than `limit` bytes.
    package func read(_ path: String, limit: Int = 16 << 20) throws(FerryError) -> [UInt8] {
        let input = try open(path)
        let size = try input.size()
        guard size <= Int64(limit) else {
            throw FerryError(
                .fileFailed, "\(path) has \(size) bytes, where at most \(limit) are expected.",
                remedy: "Check that it is the file that was meant.")
        }
        return try input.read(count: Int(size), at: 0)
    }

    /// Puts a file of these bytes in place of another, or of none: what was there stays whole until the new one is.
    ///
    /// The new file gets the permissions `mode`, less the process's mask.
    package func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o644) throws(FerryError) {
        let aside = path + ".new"
        try removeIfPresent(aside)
        var output = try create(aside, mode: mode)
        try output.write(bytes)
        try output.sync()
        try output.close()
        try rename(aside, to: path)
        try syncFolder(Self.parent(of: path))
    }

    /// Copies a file's content in the cheapest way that the volumes allow, and says in which.
    ///
    /// The copy is durable, and nothing may be at its path. With `allowsLink` a second name of the same file will do,
    /// for content that nobody changes.
    @discardableResult
    package func copy(
        _ path: String, to destination: String, allowsLink: Bool = false
    ) throws(FerryError) -> CopyMethod {
        let source = try attributes(path)
        guard source.isRegularFile else { throw Self.notRegular(path) }
        let mode = source.mode
        do throws(FerryError) {
            try reflink(path, to: destination, mode: mode)
            try syncFile(destination)
            return .reflink
        } catch {
            // Struck by the fault plan, or a real failure that the next way would only meet again.
            guard error.systemError?.meansUnsupported == true else { throw error }
        }
        if allowsLink {
            do throws(FerryError) {
                try link(path, to: destination)
                return .hardLink
            } catch {
                guard error.systemError?.meansUnsupported == true else { throw error }
            }
        }
        let input = try open(path)
        var output = try create(destination, mode: mode)
        // Large enough that the calls do not count, small enough not to show in resident memory.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try input.read(into: buffer, at: offset)
            if count == 0 { break }
            try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        try output.sync()
        try output.close()
        return .bytes
    }

    private func reflink(_ path: String, to destination: String, mode: UInt32) throws(FerryError) {
        try perform("clone \(path) to \(destination)") { () throws(SystemError) in
            _ = try uninterrupted { ferry_reflink(path, destination, mode_t(mode)) }
            faults?.tell(.cloned(path, to: destination))
        }
    }
}

extension SystemError {
    /// Whether the volume cannot do this at all (or not between two volumes), so that another way should be tried.
    fileprivate var meansUnsupported: Bool {
        [EOPNOTSUPP, ENOTSUP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM, EMLINK].contains(number)
    }
}
