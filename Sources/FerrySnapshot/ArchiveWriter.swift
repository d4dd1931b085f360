internal import FerryBase
internal import Foundation

/// How far an unfinished archive is; kept beside it.
struct ArchiveState: Codable, Equatable {
    var ferry = 1
    var name: String
    /// Nil in what earlier versions have begun: Zstandard.
    var form: SnapshotForm?
    var createdSeconds: Int64
    var fingerprint: String?
    var level: Int
    var frameBytes: Int64
    var contentBytes: Int64
    /// Whole frames that are durable, the content that they hold and the room that they take.
    var frames = 0
    var contentOffset: Int64 = 0
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
    let files: FileLayer
    let progress: ProgressHook?
    let stop: StopRequest

    /// A multiple of zstd's blocks of 128 KiB, so that ending each piece costs no compression.
    private static let pieceBytes = 256 << 10
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

    /// Writes all frames that are missing.
    ///
    /// - Parameters:
    ///   - source: The content.
    ///   - output: The unfinished archive, at the end of its last durable frame.
    ///   - state: How far it is.
    ///   - hashes: Of what it holds so far.
    ///   - recordState: Makes the state durable; called after each frame, on the second thread.
    /// - Returns: Both hashes and the last state.
    /// - Throws: What the source throws, ``FerryError``, or the reason of the stop request, between two frames.
    func write(
        _ source: some PageSource, to output: consuming OutputFile, from state: ArchiveState,
        hashes: consuming ArchiveHashes, recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) throws -> Result {
        let checker = try Checker(
            output: output, state: state, hashes: hashes, slots: Self.slotCount, pieceBytes: Self.pieceBytes,
            stop: stop, recordState: recordState)
        try checker.slots.start("ferry.snapshot") { checker.run() }
        do {
            try compress(source, from: state, into: checker.slots)
        } catch {
            // Only what was handed over is finished, then the second thread is gone; what failed there failed first.
            try checker.slots.finish()
            throw error
        }
        return try checker.finish()
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

    init(pieceBytes: Int, form: SnapshotForm) {
        content = .allocate(byteCount: pieceBytes, alignment: 4096)
        encoded = .allocate(byteCount: form.bound(pieceBytes), alignment: 16)
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
    let slots: SlotWorker<Slot>
    private var output: OutputFile
    private var state: ArchiveState
    private var hashes: ArchiveHashes
    private let decompressor: any Decompressor
    private let decoded: UnsafeMutableRawBufferPointer
    private let stop: StopRequest
    private let recordState: @Sendable (ArchiveState) throws -> Void

    init(
        output: consuming OutputFile, state: ArchiveState, hashes: consuming ArchiveHashes, slots count: Int,
        pieceBytes: Int, stop: StopRequest, recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) throws {
        let form = state.archiveForm
        decompressor = try form.makeDecompressor()
        slots = SlotWorker((0..<count).map { _ in Slot(pieceBytes: pieceBytes, form: form) })
        decoded = .allocate(byteCount: pieceBytes + 1, alignment: 16)
        self.output = output
        self.state = state
        self.hashes = hashes
        self.stop = stop
        self.recordState = recordState
    }

    deinit { decoded.deallocate() }

    /// Waits until all that was handed over is done.
    func finish() throws -> ArchiveWriter.Result {
        try slots.finish()
        guard decompressor.isAtFrameEnd else {
            throw FerryError(.internalError, "The last frame of \(output.path) is not whole.")
        }
        var whole = ArchiveHashes()
        swap(&whole, &hashes)
        let (archive, content) = whole.finalize()
        return ArchiveWriter.Result(archiveSHA256: archive, contentSHA256: content, state: state)
    }

    func run() {
        slots.take {
            try take($0)
        } atEnd: {
            try output.close()
        }
    }

    private func take(_ slot: Slot) throws {
        let content = UnsafeRawBufferPointer(rebasing: slot.content[..<slot.contentCount])
        var encoded = UnsafeRawBufferPointer(rebasing: slot.encoded[..<slot.encodedCount])
        try output.write(encoded)
        hashes.archive.update(encoded)
        hashes.content.update(content)
        // Room for one byte more, so that too much is seen and the end of a frame is taken in.
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
