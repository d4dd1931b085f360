internal import FerryBase
internal import Foundation

/// The progress of an unfinished archive, kept beside it after a stopped or failed call.
package struct ArchiveState: Codable, Sendable {
    var ferry = 1
    /// The name of the snapshot.
    package var name: String
    /// Nil in states of earlier versions, which wrote Zstandard only.
    var form: SnapshotForm?
    var createdSeconds: Int64
    /// The state of the store when the archive was begun.
    package var fingerprint: String?
    var level: Int
    var frameBytes: Int64
    package var contentBytes: Int64
    /// The number of complete, durable frames, the bytes of their content, and their bytes in the archive.
    var frames = 0
    package var contentOffset: Int64 = 0
    var archiveOffset: Int64 = 0

    var archiveForm: SnapshotForm { form ?? .zstandard }

    /// Whether a call can have written the state, judged by its numbers.
    var isPlausible: Bool {
        let times: ClosedRange<Int64> = 0...253_402_300_799
        return times.contains(createdSeconds) && (0...Int(Int32.max)).contains(frames) && contentOffset >= 0
            && contentOffset <= contentBytes && archiveOffset >= 0
    }
}

extension SnapshotForm {
    /// The pieces of content that are compressed to estimate the size of an archive, and their bytes.
    private static let samples: (count: Int64, bytes: Int) = (32, 64 << 10)

    /// Returns the bytes of an archive for one byte of content, from pieces at even distances.
    ///
    /// - Throws: The source's error, ``FerryError``.
    package func share(of source: some PageSource, level: Int) throws -> Double {
        let count = Int(min(source.byteCount, Int64(Self.samples.bytes)))
        guard count > 0 else { return 1 }
        let content = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
        let encoded = UnsafeMutableRawBufferPointer.allocate(byteCount: bound(count), alignment: 16)
        defer {
            content.deallocate()
            encoded.deallocate()
        }
        let last = source.byteCount - Int64(count)
        let places = min(Self.samples.count, 1 + last / Int64(count))
        let compressor = try makeCompressor(level: level)
        var sum = 0
        for place in 0..<places {
            // Pages begin at even offsets, also in a store with a -wal.
            let offset = places == 1 ? 0 : last / (places - 1) * place / 512 * 512
            try source.read(into: content, at: offset)
            try compressor.begin(frameBytes: Int64(count))
            sum += try compressor.compress(UnsafeRawBufferPointer(content), into: encoded, endsFrame: true)
        }
        return Double(sum) / Double(Int64(count) * places)
    }
}

/// Writes the frames of an archive on two threads.
///
/// The caller's thread reads the content and compresses it. A second thread writes the compressed bytes, decodes them
/// again, compares them with the content and hashes both. They share ``slotCount`` slots, each with one piece of
/// content and its compressed form. With one decoded piece and the two contexts that takes about 3 MiB.
struct ArchiveWriter {
    let progress: ProgressHook?
    let stop: StopRequest

    /// A multiple of zstd's 128 KiB blocks, so that flushing after each piece costs no compression.
    fileprivate static let pieceBytes = 256 << 10
    /// One for each thread and one between them.
    private static let slotCount = 3

    /// The bytes of all slots and of the decoded piece.
    static func bufferBytes(_ form: SnapshotForm) -> Int {
        slotCount * (pieceBytes + form.bound(pieceBytes)) + pieceBytes + 1
    }

    struct Result {
        var archiveSHA256: [UInt8]
        var contentSHA256: [UInt8]
        var state: ArchiveState
    }

    /// Writes all frames after the last durable one, with which the output ends.
    ///
    /// `hashes` are those of the output so far. The second thread records the state durably after each frame.
    ///
    /// - Throws: The source's error, ``FerryError``, or the reason of the stop request, between two frames.
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
        // An empty store also gets a frame, so that its archive decodes.
        var start = Clock.nanoseconds()
        while offset < state.contentBytes || isFirst {
            try stop.checkBetweenUnits(after: isFirst ? 0 : Clock.nanoseconds(since: start))
            start = Clock.nanoseconds()
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

/// A piece of content and its compressed form.
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

/// The work of the second thread.
///
/// Unchecked, because the ring orders all access: only the second thread uses `output`, `state`, `hashes` and the
/// decompressor until it ends, and only the first thread afterwards.
private final class Checker: @unchecked Sendable {
    private var output: OutputFile
    private var state: ArchiveState
    private var hashes: ArchiveHashes
    private let decompressor: any Decompressor
    /// One byte larger than a piece, so that excess content shows and the decoder reaches the end of a frame.
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

    /// The result, after the end of the second thread.
    func result() throws -> ArchiveWriter.Result {
        guard decompressor.isAtFrameEnd else {
            throw FerryError(.internalError, "The last frame of \(output.path) is incomplete.")
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
                .snapshotFailed,
                "What was written to \(output.path) does not match the store's content when read back.",
                remedy: "Check the memory and the disk of this machine.")
        }
        state.contentOffset += Int64(content.count)
        guard slot.endsFrame else { return }
        guard decompressor.isAtFrameEnd else {
            throw FerryError(.internalError, "A frame of \(output.path) is incomplete.")
        }
        try output.sync()
        state.frames += 1
        state.archiveOffset = output.offset
        try recordState(state)
        stop.unitIsDone()
    }
}
