#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A file that is read at any place.
package struct InputFile: ~Copyable {
    package let path: String
    private let files: FileLayer
    private let descriptor: Int32

    fileprivate init(path: String, files: FileLayer, descriptor: Int32) {
        self.path = path
        self.files = files
        self.descriptor = descriptor
    }

    deinit { _ = systemClose(descriptor) }

    package func size() throws(FerryError) -> Int64 {
        let descriptor = descriptor
        return try files.perform("look at \(path)") { () throws(SystemError) in
            try FileAttributes(descriptor: descriptor).size
        }
    }

    /// Fills the buffer from a place in the file.
    ///
    /// - Returns: How many bytes there were; fewer than asked for only at the end of the file.
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

    /// Up to `count` bytes from a place in the file; fewer only at its end.
    package func read(count: Int, at offset: Int64) throws(FerryError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(FerryError) in try read(into: buffer, at: offset) }
        }.get()
        return found == count ? bytes : Array(bytes[..<found])
    }
}

extension FileLayer {
    /// Opens a regular file for reading.
    ///
    /// - Throws: ``FerryError`` `.notARegularFile` for a pipe, a device or a folder, which could be without end.
    package func open(_ path: String) throws(FerryError) -> InputFile {
        InputFile(path: path, files: self, descriptor: try openRegular(path, O_RDONLY, "open \(path)"))
    }

    /// Opens what must be a regular file; never waits, as opening a pipe would.
    func openRegular(
        _ path: String, _ flags: Int32, _ operation: @autoclosure () -> String
    ) throws(FerryError) -> Int32 {
        let descriptor: Int32? = try perform(operation()) { () throws(SystemError) in
            let descriptor = try uninterrupted { systemOpen(path, flags | O_CLOEXEC | O_NONBLOCK, 0) }
            do throws(SystemError) {
                if try FileAttributes(descriptor: descriptor).isRegularFile { return descriptor }
            } catch {
                _ = systemClose(descriptor)
                throw error
            }
            _ = systemClose(descriptor)
            return nil
        }
        guard let descriptor else { throw Self.notRegular(path) }
        return descriptor
    }

    static func notRegular(_ path: String) -> FerryError {
        FerryError(
            .notARegularFile, "\(path) is no regular file, but a pipe, a device or a folder.",
            remedy: "Put a regular file there, or name another path.")
    }
}
