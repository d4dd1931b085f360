internal import CZlib
internal import FerryBase

/// A decompressor for the members of a gzip file, one after another; it takes about 48 KiB, whatever they say.
final class GzipDecompressor: Decompressor {
    // zlib's state points back at it, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private(set) var isAtFrameEnd = true

    /// - Throws: ``FerryError`` `.outOfMemory`.
    init() throws(FerryError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard ferry_inflate_init_gzip(stream) == Z_OK else {
            stream.deallocate()
            throw FerryError(.outOfMemory, "There is no memory for a zlib context.")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func decompress(
        _ bytes: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(FerryError) -> Int {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        // Once even without input, inside of a member: decoded bytes may still be waiting there.
        repeat {
            if isAtFrameEnd {
                if stream.pointee.avail_in == 0 { break }
                // Behind a member comes another one, or nothing.
                guard inflateReset(stream) == Z_OK else { throw damaged("inflateReset") }
                isAtFrameEnd = false
            }
            let code = inflate(stream, Z_NO_FLUSH)
            // Nothing more can be done without further input, or without room.
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
        FerryError(.snapshotDamaged, "The archive does not decode: \(how).", remedy: "Use another snapshot.")
    }
}
