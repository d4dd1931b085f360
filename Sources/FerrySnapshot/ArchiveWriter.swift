internal import FerryBase
internal import Foundation

/// The progress of an unfinished archive, kept beside it after a stopped or failed call.
package struct ArchiveState: Codable, Sendable {
    var ferry = 1
    /// The name of the snapshot.
    package var name: String
    var form: SnapshotForm
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
            sum += try compressor.compress(UnsafeRawBufferPointer(content), into: encoded)
        }
        return Double(sum) / Double(Int64(count) * places)
    }
}

/// Writes the frames of an archive on several threads.
///
/// The caller's thread reads the content of one frame after another. Any number of threads compress frames, each a
/// whole one, decode them again and compare them with the content. A last thread writes the frames in order and hashes
/// both forms. So the archive is the same for any number of threads. They share slots, each with one frame's content
/// and its compressed form.
struct ArchiveWriter {
    let progress: ProgressHook?
    let stop: StopRequest
    /// The number of threads that compress.
    let workers: Int

    /// A slot for each thread that compresses, and one for the frame that is read or written.
    private static func slotCount(_ workers: Int) -> Int { workers + 1 }

    /// The bytes of all slots and of the decoded frames.
    static func bufferBytes(_ form: SnapshotForm, frameBytes: Int, workers: Int) -> Int {
        slotCount(workers) * (frameBytes + form.bound(frameBytes)) + workers * (frameBytes + 1)
    }

    /// The state at the end, and the hashes of the whole archive and of its content.
    typealias Result = (state: ArchiveState, archive: [UInt8], content: [UInt8])

    /// Writes all frames after the last durable one, with which the output ends.
    ///
    /// `hashes` are those of the output so far. After each unit of `unitBytes` of content the last thread records the
    /// state durably.
    ///
    /// - Throws: The source's error, ``FerryError``, or the reason of the stop request, between two units.
    func write(
        _ source: some PageSource, to output: consuming OutputFile, from state: ArchiveState, unitBytes: Int64,
        hashes: consuming ArchiveHashes, recordState: @escaping @Sendable (ArchiveState) throws -> Void
    ) throws -> Result {
        let path = output.path
        let frames = ArchiveFrames(output, state: state, hashes: hashes, stop: stop, recordState: recordState)
        let frameBytes = Int(min(state.frameBytes, state.contentBytes))
        let threads = Locked(
            try (0..<workers).map { _ in try FrameWorker(state, frameBytes: frameBytes, for: path) })
        let slots = SlotLine(
            (0..<Self.slotCount(workers)).map { _ in FrameSlot(state.form, frameBytes) }, workers: workers
        ) { slot in
            let worker = threads.withLock { $0.removeLast() }
            defer { threads.withLock { $0.append(worker) } }
            try worker.work(on: slot)
        }
        try slots.run("ferry.snapshot") {
            try read(source, from: state, unitBytes: unitBytes, into: slots)
        } taking: {
            try frames.take($0)
        } atEnd: { _ in
            try frames.close()
        }
        return frames.result()
    }

    private func read(
        _ source: some PageSource, from state: ArchiveState, unitBytes: Int64, into slots: SlotLine<FrameSlot>
    ) throws {
        var offset = state.contentOffset
        var isFirst = state.frames == 0
        // An empty store also gets a frame, so that its archive decodes.
        var start = Clock.nanoseconds()
        while offset < state.contentBytes || isFirst {
            try stop.checkBetweenUnits(after: isFirst ? 0 : Clock.nanoseconds(since: start))
            start = Clock.nanoseconds()
            isFirst = false
            let unitEnd = min(offset + max(unitBytes, state.frameBytes), state.contentBytes)
            repeat {
                let count = Int(min(state.frameBytes, unitEnd - offset))
                try slots.fill { slot in
                    try source.read(into: UnsafeMutableRawBufferPointer(rebasing: slot.content[..<count]), at: offset)
                    offset += Int64(count)
                    slot.contentCount = count
                    slot.endsUnit = offset == unitEnd
                }
            } while offset < unitEnd
            progress?(ProgressUpdate(phase: .snapshot, done: offset, total: state.contentBytes))
        }
    }
}
