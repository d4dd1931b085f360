internal import CZlib
internal import FerryBase

/// A gzip compressor by zlib, whose context takes about 256 KiB at any level; each frame is one member of a gzip file.
final class GzipCompressor: Compressor {
    // zlib's state points back at it, so that it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Parameter level: One of the form's.
    /// - Throws: ``FerryError`` `.outOfMemory`.
    init(level: Int) throws(FerryError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard ferry_deflate_init_gzip(stream, Int32(level)) == Z_OK else {
            stream.deallocate()
            throw FerryError(.outOfMemory, "There is no memory for a zlib context.")
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    func begin(frameBytes: Int64) throws(FerryError) {
        guard deflateReset(stream) == Z_OK else { throw failure }
    }

    func compress(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, endsFrame: Bool
    ) throws(FerryError) -> Int {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        let code = deflate(stream, endsFrame ? Z_FINISH : Z_SYNC_FLUSH)
        guard code == (endsFrame ? Z_STREAM_END : Z_OK), stream.pointee.avail_in == 0 else { throw failure }
        // A full output could hide what zlib still keeps back.
        precondition(stream.pointee.avail_out > 0, "the output of the compressor has room for its bound")
        return output.count - Int(stream.pointee.avail_out)
    }

    private var failure: FerryError {
        FerryError(.snapshotFailed, "zlib could not compress.", remedy: "\(action: .again).")
    }
}
