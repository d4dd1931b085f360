#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A file that is written from front to end.
///
/// Closing can fail and matters: call ``close()``. A file that goes out of use unclosed is closed without a word, which
/// is right only where its content no longer counts.
package struct OutputFile: ~Copyable {
    package let path: String
    /// Where the next bytes go; the size of the file.
    package private(set) var offset: Int64
    private let files: FileLayer
    private var descriptor: Int32

    fileprivate init(path: String, offset: Int64, files: FileLayer, descriptor: Int32) {
        self.path = path
        self.offset = offset
        self.files = files
        self.descriptor = descriptor
    }

    deinit { if descriptor >= 0 { _ = systemClose(descriptor) } }

    /// Appends the bytes.
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

    /// Cuts the file off, or extends it by zero bytes; writing goes on there.
    package mutating func truncate(to size: Int64) throws(FerryError) {
        let descriptor = descriptor
        try files.perform("truncate \(path)") { () throws(SystemError) in
            _ = try uninterrupted { ftruncate(descriptor, off_t(size)) }
            files.faults?.tell(.resized(path, size))
        }
        offset = size
    }

    /// Makes what was written durable.
    package mutating func sync() throws(FerryError) {
        let descriptor = descriptor
        try files.perform("sync \(path)") { () throws(SystemError) in
            try FileLayer.sync(descriptor: descriptor)
            files.faults?.tell(.synced(path))
        }
    }

    /// Closes the file; the last use of it.
    package mutating func close() throws(FerryError) {
        precondition(descriptor >= 0, "a file is closed once")
        let closing = descriptor
        descriptor = -1
        try files.perform("close \(path)") { () throws(SystemError) in
            // Not repeated after a signal: the descriptor is gone either way.
            if systemClose(closing) != 0, SystemError.last.number != EINTR { throw .last }
        }
    }
}

extension FileLayer {
    /// Makes a new file.
    ///
    /// - Throws: ``FerryError`` `.fileFailed` also when something is at the path already.
    package func create(_ path: String, mode: UInt32 = 0o644) throws(FerryError) -> OutputFile {
        let descriptor = try perform("create \(path)") { () throws(SystemError) in
            let descriptor = try uninterrupted {
                systemOpen(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
            }
            faults?.tell(.created(path))
            return descriptor
        }
        return OutputFile(path: path, offset: 0, files: self, descriptor: descriptor)
    }

    /// Makes an empty file that only its owner may read, unless the path is taken.
    ///
    /// SQLite gives a database that it makes itself to everybody to read; one that is there keeps its permissions, and
    /// its side files get the same.
    package func createPrivately(_ path: String) throws(FerryError) {
        guard try !exists(path) else { return }
        var file = try create(path, mode: 0o600)
        try file.close()
    }

    /// Opens an existing file to write on at its end.
    package func append(to path: String) throws(FerryError) -> OutputFile {
        let descriptor = try openRegular(path, O_WRONLY, "open \(path) for writing")
        do throws(SystemError) {
            let size = try FileAttributes(descriptor: descriptor).size
            return OutputFile(path: path, offset: size, files: self, descriptor: descriptor)
        } catch {
            _ = systemClose(descriptor)
            throw FerryError("look at \(path)", error)
        }
    }
}

// The C functions under names that methods do not hide.
func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
