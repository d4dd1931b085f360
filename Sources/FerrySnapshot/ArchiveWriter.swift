internal import FerryBase
internal import Foundation

/// How far an unfinished archive is, which a call has left that was stopped or failed; kept beside it.
package struct ArchiveState: Codable, Sendable {
    var ferry = 1
    /// Of the snapshot.
    package var name: String
    /// Nil in what earlier versions have begun: Zstandard.
    var form: SnapshotForm?
    var createdSeconds: Int64
    /// The state of the store that it was begun from.
    package var fingerprint: String?
    var level: Int
    var frameBytes: Int64
    package var contentBytes: Int64
    /// Whole frames that are durable, the content that they hold and the room that they take.
    var frames = 0
    package var contentOffset: Int64 = 0
    var archiveOffset: Int64 = 0

    var archiveForm: SnapshotForm { form ?? .zstandard }

    /// Whether a call can have written it, as far as its numbers go.
    var isPlausible: Bool {
        let times: ClosedRange<Int64> = 0...253_402_300_799
        return times.contains(createdSeconds) && (0...Int(Int32.max)).contains(frames) && contentOffset >= 0
            && contentOffset <= contentBytes && archiveOffset >= 0
    }
}

/// Writes the frames of an archive on two threads.
///
/// The caller's thread reads the content and compresses it; a second one writes what was compressed, decodes it again,
/// compares it with the content and hashes both. They share ``slotCount`` slots, so memory is fixed: per slot one piece
/// of content and its compressed form, besides one decoded piece and the two contexts about 3 MiB.
struct ArchiveWriter {
    let progress: ProgressHook?
    let stop: StopRequest

    /// A multiple of zstd's blocks of 128 KiB, so that ending each piece costs no compression.
    fileprivate static let pieceBytes = 256 << 10
    /// One at each thread and one between them.
    private static let slotCount = 3

    /// All slots and the decoded piece.
    static func bufferBytes(_ form: SnapshotForm) -> Int {
        slotCount * (pieceBytes + form.bound(pieceBytes)) + pieceBytes + 1
    }

    struct Result {
        var archiveSHA256: [UInt8]
        var contentSHA256: [UInt8]
        var state: ArchiveState
    }

    /// Writes all frames that are missing behind the last durable one, at the end of which the output stands.
    ///
    /// The hashes are of what it holds so far. The state is made durable after each frame, on the second thread.
    ///
    /// - Throws: What the source throws, ``FerryError``, or the reason of the stop request, between two frames.
    func write(
        _ source: some PageSource, to output: consuming OutputFile, from state: ArchiveState,
        hashes: consuming ArchiveHashes, recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) throws -> Result {
        let checker = try Checker(
            output: output, state: state, hashes: hashes, stop: stop, recordState: recordState)
        let slots = SlotWorker((0..<Self.slotCount).map { _ in Slot(state.archiveForm) })
        try slots.run("ferry.snapshot") {
            try compress(source, from: state, into: slots)
        } taking: {
            try checker.take($0)
        } atEnd: { _ in
            try checker.close()
        }
        return try checker.result()
    }

    private func compress(_ source: some PageSource, from state: ArchiveState, into slots: SlotWorker<Slot>) throws {
        let compressor = try state.archiveForm.makeCompressor(level: state.level)
        var offset = state.contentOffset
        var isFirst = state.frames == 0
        // An empty store still gets a frame, so that its archive decodes.
        while offset < state.contentBytes || isFirst {
            try stop.check()
            isFirst = false
            let frameEnd = min(offset + state.frameBytes, state.contentBytes)
            try compressor.begin(frameBytes: frameEnd - offset)
            repeat {
                let count = Int(min(Int64(Self.pieceBytes), frameEnd - offset))
                try slots.fill { slot in
                    let piece = UnsafeMutableRawBufferPointer(rebasing: slot.content[..<count])
                    try source.read(into: piece, at: offset)
                    offset += Int64(count)
                    slot.contentCount = count
                    slot.endsFrame = offset == frameEnd
                    slot.encodedCount = try compressor.compress(
                        UnsafeRawBufferPointer(piece), into: slot.encoded, endsFrame: slot.endsFrame)
                }
            } while offset < frameEnd
            progress?(ProgressUpdate(phase: .snapshot, done: offset, total: state.contentBytes))
        }
    }
}

/// A piece of content on its way.
private final class Slot {
    let content: UnsafeMutableRawBufferPointer
    let encoded: UnsafeMutableRawBufferPointer
    var contentCount = 0
    var encodedCount = 0
    var endsFrame = false

    init(_ form: SnapshotForm) {
        content = .allocate(byteCount: ArchiveWriter.pieceBytes, alignment: 4096)
        encoded = .allocate(byteCount: form.bound(ArchiveWriter.pieceBytes), alignment: 16)
    }

    deinit {
        content.deallocate()
        encoded.deallocate()
    }
}

/// The second thread's side.
///
/// Unchecked, because the ring makes it true: `output`, `state`, `hashes` and the decompressor are used by the second
/// thread from its start until its end, by the first one afterwards.
private final class Checker: @unchecked Sendable {
    private var output: OutputFile
    private var state: ArchiveState
    private var hashes: ArchiveHashes
    private let decompressor: any Decompressor
    /// With room for one byte more, so that too much is seen and the end of a frame is taken in.
    private let decoded = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ArchiveWriter.pieceBytes + 1, alignment: 16)
    private let stop: StopRequest
    private let recordState: @Sendable (ArchiveState) throws -> Void

    init(
        output: consuming OutputFile, state: ArchiveState, hashes: consuming ArchiveHashes, stop: StopRequest,
        recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) throws {
        decompressor = try state.archiveForm.makeDecompressor()
        self.output = output
        self.state = state
        self.hashes = hashes
        self.stop = stop
        self.recordState = recordState
    }

    deinit { decoded.deallocate() }

    func close() throws { try output.close() }

    /// What was written, once the second thread is gone.
    func result() throws -> ArchiveWriter.Result {
        guard decompressor.isAtFrameEnd else {
            throw FerryError(.internalError, "The last frame of \(output.path) is not whole.")
        }
        var whole = ArchiveHashes()
        swap(&whole, &hashes)
        let (archive, content) = whole.finalize()
        return ArchiveWriter.Result(archiveSHA256: archive, contentSHA256: content, state: state)
    }

    func take(_ slot: Slot) throws {
        let content = UnsafeRawBufferPointer(rebasing: slot.content[..<slot.contentCount])
        var encoded = UnsafeRawBufferPointer(rebasing: slot.encoded[..<slot.encodedCount])
        try output.write(encoded)
        hashes.archive.update(encoded)
        hashes.content.update(content)
        let room = UnsafeMutableRawBufferPointer(rebasing: decoded[...content.count])
        let done = try decompressor.decompress(&encoded, into: room)
        guard encoded.isEmpty, done == content.count, memcmp(decoded.baseAddress!, slot.content.baseAddress!, done) == 0
        else {
            throw FerryError(
                .snapshotFailed, "What was written to \(output.path) does not decode to the store's content.",
                remedy: "Check the memory and the disk of this machine.")
        }
        state.contentOffset += Int64(content.count)
        guard slot.endsFrame else { return }
        guard decompressor.isAtFrameEnd else {
            throw FerryError(.internalError, "A frame of \(output.path) is not whole.")
        }
        try output.sync()
        state.frames += 1
        state.archiveOffset = output.offset
        try recordState(state)
        stop.unitIsDone()
    }
}
