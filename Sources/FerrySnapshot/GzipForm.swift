internal import CZlib
internal import FerryBase

/// A gzip compressor by zlib, whose context takes about 256 KiB at any level; each frame is one member of a gzip file.
final class GzipCompressor: Compressor {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``FerryError`` `.outOfMemory`.
    init(level: Int) throws(FerryError) { stream = try .begun { ferry_deflate_init_gzip($0, Int32(level)) } }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    func compress(
        _ frame: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(FerryError) -> Int {
        guard deflateReset(stream) == Z_OK else { throw failure }
        stream.pointee.set(frame, output)
        guard deflate(stream, Z_FINISH) == Z_STREAM_END else { throw failure }
        return output.count - Int(stream.pointee.avail_out)
    }

    private var failure: FerryError {
        FerryError(.snapshotFailed, "zlib could not compress.", remedy: "\(action: .again).")
    }
}

/// A decompressor for the successive members of a gzip file; it takes about 48 KiB for any content.
final class GzipDecompressor: Decompressor {
    private let stream: UnsafeMutablePointer<z_stream>
    private(set) var isAtFrameEnd = true

    /// - Throws: ``FerryError`` `.outOfMemory`.
    init() throws(FerryError) { stream = try .begun { ferry_inflate_init_gzip($0) } }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func decompress(
        _ bytes: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(FerryError) -> Int {
        stream.pointee.set(bytes, output)
        // Inside a member this runs once even without input: zlib may hold decoded bytes.
        repeat {
            if isAtFrameEnd {
                if stream.pointee.avail_in == 0 { break }
                // After a member the file has another one, or ends.
                guard inflateReset(stream) == Z_OK else { throw damaged("inflateReset") }
                isAtFrameEnd = false
            }
            let code = inflate(stream, Z_NO_FLUSH)
            // zlib needs more input, or more room.
            if code == Z_BUF_ERROR { break }
            guard code == Z_OK || code == Z_STREAM_END else {
                throw damaged(stream.pointee.msg.map { String(cString: $0) } ?? "zlib's error \(code)")
            }
            isAtFrameEnd = code == Z_STREAM_END
        } while stream.pointee.avail_in > 0 && stream.pointee.avail_out > 0
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - Int(stream.pointee.avail_in))...])
        return output.count - Int(stream.pointee.avail_out)
    }

    private func damaged(_ how: String) -> FerryError {
        FerryError(.snapshotDamaged, "The archive cannot be decompressed: \(how).", remedy: "Use another snapshot.")
    }
}

extension UnsafeMutablePointer<z_stream> {
    /// Makes a stream, which must not move, because zlib's state has a pointer to it.
    fileprivate static func begun(by begin: (Self) -> Int32) throws(FerryError) -> Self {
        let stream = allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard begin(stream) == Z_OK else {
            stream.deallocate()
            throw FerryError(.outOfMemory, "There is not enough memory for zlib.")
        }
        return stream
    }
}

extension z_stream {
    fileprivate mutating func set(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) {
        next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        avail_in = UInt32(input.count)
        next_out = output.bindMemory(to: UInt8.self).baseAddress
        avail_out = UInt32(output.count)
    }
}
