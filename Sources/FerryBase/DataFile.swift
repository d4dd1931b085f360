internal import CSystem

/// A file with reads at any offset.
package struct InputFile: ~Copyable {
    package let path: String
    private let files: FileLayer
    private let descriptor: Int32

    fileprivate init(path: String, files: FileLayer, descriptor: Int32) {
        self.path = path
        self.files = files
        self.descriptor = descriptor
    }

    deinit { _ = close(descriptor) }

    package func size() throws(FerryError) -> Int64 {
        let descriptor = descriptor
        return try files.perform("access \(path)") { () throws(SystemError) in
            try FileAttributes(descriptor: descriptor).size
        }
    }

    /// - Returns: The number of bytes read, less than the buffer's size only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FerryError) -> Int {
        let descriptor = descriptor
        return try files.perform("read \(path)") { () throws(SystemError) in
            var done = 0
            while done < buffer.count {
                let count = try uninterrupted {
                    pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
                }
                if count == 0 { break }
                done += count
            }
            return done
        }
    }

    /// The bytes at an offset; fewer than `count` only at the file's end.
    package func read(count: Int, at offset: Int64) throws(FerryError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(FerryError) in try read(into: buffer, at: offset) }
        }.get()
        return found == count ? bytes : Array(bytes[..<found])
    }

    /// Passes the file's content to the body from front to end, in pieces.
    package func forEachPiece(_ body: (UnsafeRawBufferPointer) throws(FerryError) -> Void) throws(FerryError) {
        // Few calls, and small against resident memory.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try read(into: buffer, at: offset)
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}

extension FileLayer {
    /// Opens a regular file for reading.
    ///
    /// - Throws: ``FerryError`` `.notARegularFile` for a pipe, a device or a folder: a read of these may never end.
    package func open(_ path: String) throws(FerryError) -> InputFile {
        InputFile(path: path, files: self, descriptor: try openRegular(path, O_RDONLY, "open \(path)").descriptor)
    }

    /// Opens a file that must be regular; never waits, as the open of a pipe would.
    func openRegular(
        _ path: String, _ flags: Int32, _ operation: @autoclosure () -> String
    ) throws(FerryError) -> (descriptor: Int32, size: Int64) {
        let opened: (Int32, Int64)? = try perform(operation()) { () throws(SystemError) in
            let descriptor = try uninterrupted { ferry_open(path, flags | O_CLOEXEC | O_NONBLOCK, 0) }
            var isKept = false
            defer { if !isKept { _ = close(descriptor) } }
            let attributes = try FileAttributes(descriptor: descriptor)
            isKept = attributes.isRegularFile
            return isKept ? (descriptor, attributes.size) : nil
        }
        guard let opened else { throw Self.notRegular(path) }
        return opened
    }

    static func notRegular(_ path: String) -> FerryError {
        FerryError(
            .notARegularFile, "\(path) is not a regular file but a pipe, a device or a folder.",
            remedy: "Put a regular file there, or choose another path.")
    }
}

/// A file with sequential writes.
///
/// Call ``close()``, because a close can fail. `deinit` ignores its error, which is right only for unneeded content.
package struct OutputFile: ~Copyable {
    package let path: String
    /// The offset of the next write, which is the file's size.
    package private(set) var offset: Int64
    private let files: FileLayer
    private var descriptor: Int32

    fileprivate init(path: String, offset: Int64, files: FileLayer, descriptor: Int32) {
        self.path = path
        self.offset = offset
        self.files = files
        self.descriptor = descriptor
    }

    deinit { if descriptor >= 0 { _ = CSystem.close(descriptor) } }

    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FerryError) {
        let descriptor = descriptor
        let start = offset
        try files.perform("write \(path)") { () throws(SystemError) in
            var done = 0
            while done < bytes.count {
                done += try uninterrupted {
                    pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(start) + off_t(done))
                }
            }
            files.faults?.tell(.wrote(path, offset: start, bytes))
        }
        offset += Int64(bytes.count)
    }

    package mutating func write(_ bytes: [UInt8]) throws(FerryError) {
        try bytes.withUnsafeBytes { buffer in Result { () throws(FerryError) in try write(buffer) } }.get()
    }

    package mutating func write(_ text: String) throws(FerryError) { try write(Array(text.utf8)) }

    /// Cuts the file off, or extends it by zero bytes; the next write starts at its new end.
    package mutating func truncate(to size: Int64) throws(FerryError) {
        let descriptor = descriptor
        try files.call("truncate \(path)", telling: .resized(path, size)) { ftruncate(descriptor, off_t(size)) }
        offset = size
    }

    /// Writes bytes at any offset; the next sequential write is at the file's end.
    package mutating func overwrite(_ bytes: UnsafeRawBufferPointer, at place: Int64) throws(FerryError) {
        let end = offset
        offset = place
        defer { offset = max(end, offset) }
        try write(bytes)
    }

    package mutating func sync() throws(FerryError) {
        let descriptor = descriptor
        try files.perform("sync \(path)") { () throws(SystemError) in
            try FileLayer.sync(descriptor: descriptor)
            files.faults?.tell(.synced(path))
        }
    }

    /// Closes the file; must be its last use.
    package mutating func close() throws(FerryError) {
        precondition(descriptor >= 0, "a file is closed once")
        let closing = descriptor
        descriptor = -1
        try files.perform("close \(path)") { () throws(SystemError) in
            // No repetition after a signal: the descriptor is closed either way.
            if CSystem.close(closing) != 0, SystemError.last.number != EINTR { throw .last }
        }
    }
}

extension FileLayer {
    /// Makes a new file.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` also if the path exists.
    package func create(_ path: String, mode: UInt32 = 0o644) throws(FerryError) -> OutputFile {
        let descriptor = try perform("create \(path)") { () throws(SystemError) in
            let descriptor = try uninterrupted {
                ferry_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
            }
            faults?.tell(.created(path))
            return descriptor
        }
        return OutputFile(path: path, offset: 0, files: self, descriptor: descriptor)
    }

    /// Creates an empty file that only its owner may read, unless the path exists.
    ///
    /// SQLite creates databases that every user can read, but keeps the permissions of a file, also for its side files.
    package func createPrivately(_ path: String) throws(FerryError) {
        guard try !exists(path) else { return }
        var file = try create(path, mode: 0o600)
        try file.close()
    }

    package func append(to path: String) throws(FerryError) -> OutputFile {
        let (descriptor, size) = try openRegular(path, O_WRONLY, "open \(path) for writing")
        return OutputFile(path: path, offset: size, files: self, descriptor: descriptor)
    }
}
