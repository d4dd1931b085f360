internal import FerryBase
internal import Foundation

/// The content of one frame, and its compressed form.
final class FrameSlot {
    let content: UnsafeMutableRawBufferPointer
    let encoded: UnsafeMutableRawBufferPointer
    var contentCount = 0
    var encodedCount = 0
    /// Whether everything up to this frame becomes durable before the next one.
    var endsUnit = false

    init(_ form: SnapshotForm, _ frameBytes: Int) {
        content = .allocate(byteCount: max(1, frameBytes), alignment: 4096)
        encoded = .allocate(byteCount: form.bound(frameBytes), alignment: 16)
    }

    deinit {
        content.deallocate()
        encoded.deallocate()
    }
}

/// The contexts of one of the threads that compress: each frame is decoded again at once, and compared with the content.
///
/// Unchecked, because only the thread that has taken it uses the contexts and the decoded bytes.
final class FrameWorker: @unchecked Sendable {
    private let compressor: any Compressor
    private let decompressor: any Decompressor
    /// One byte larger than a frame, so that excess content shows and the decoder reaches the end of the frame.
    private let decoded: UnsafeMutableRawBufferPointer
    private let path: String

    /// - Throws: ``FerryError`` `.outOfMemory`, `.unsupported`.
    init(_ state: ArchiveState, frameBytes: Int, for path: String) throws {
        compressor = try state.form.makeCompressor(level: state.level)
        decompressor = try state.form.makeDecompressor()
        self.path = path
        decoded = .allocate(byteCount: frameBytes + 1, alignment: 16)
    }

    deinit { decoded.deallocate() }

    func work(on slot: FrameSlot) throws {
        let content = UnsafeRawBufferPointer(rebasing: slot.content[..<slot.contentCount])
        slot.encodedCount = try compressor.compress(content, into: slot.encoded)
        var encoded = UnsafeRawBufferPointer(rebasing: slot.encoded[..<slot.encodedCount])
        let room = UnsafeMutableRawBufferPointer(rebasing: decoded[...content.count])
        let done = try decompressor.decompress(&encoded, into: room)
        guard encoded.isEmpty, decompressor.isAtFrameEnd, done == content.count,
            memcmp(decoded.baseAddress!, slot.content.baseAddress!, done) == 0
        else {
            throw FerryError(
                .snapshotFailed,
                "What was compressed for \(path) does not match the store's content when it is decoded.",
                remedy: "Check the memory of this machine.")
        }
    }
}

/// The work of the last thread: writes the frames in order, and hashes both forms.
///
/// Unchecked, because the line of slots orders all access: only the last thread uses `output`, `state` and `hashes`
/// until it ends, and only the caller's thread afterwards.
final class ArchiveFrames: @unchecked Sendable {
    private var output: OutputFile
    private var state: ArchiveState
    private var hashes: ArchiveHashes
    private let stop: StopRequest
    private let recordState: @Sendable (ArchiveState) throws -> Void

    init(
        _ output: consuming OutputFile, state: ArchiveState, hashes: consuming ArchiveHashes, stop: StopRequest,
        recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) {
        self.output = output
        self.state = state
        self.hashes = hashes
        self.stop = stop
        self.recordState = recordState
    }

    func close() throws { try output.close() }

    /// The result, after the end of the last thread.
    func result() -> ArchiveWriter.Result {
        var whole = ArchiveHashes()
        swap(&whole, &hashes)
        let (archive, content) = whole.finalize()
        return (state, archive, content)
    }

    func take(_ slot: FrameSlot) throws {
        let encoded = UnsafeRawBufferPointer(rebasing: slot.encoded[..<slot.encodedCount])
        try output.write(encoded)
        hashes.archive.update(encoded)
        hashes.content.update(UnsafeRawBufferPointer(rebasing: slot.content[..<slot.contentCount]))
        state.frames += 1
        state.contentOffset += Int64(slot.contentCount)
        guard slot.endsUnit else { return }
        try output.sync()
        state.archiveOffset = output.offset
        try recordState(state)
        stop.unitIsDone()
    }
}
