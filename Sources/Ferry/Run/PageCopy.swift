internal import FerryBase
internal import FerryEngine
internal import FerrySQLite

/// A copy of a database's content as SQLite reads it, page by page; only a complete copy gets the destination's name.
struct PageCopy {
    let folder: String
    let destination: String
    let files: FileLayer

    /// The unfinished copy, and the number of its durable bytes.
    private var copy: String { folder + "/copy.sqlite" }
    private var mark: String { folder + "/copied" }

    /// What its progress reports name.
    static let subject = "copy of the store"
    /// At most this many bytes are copied again after a stop.
    private static let copiedBytes: Int64 = 64 << 20

    /// Copies the rest of the pages.
    ///
    /// - Throws: ``FerryError``, ``DatabaseError``, or the reason of the stop request; the next call then continues.
    private func run(_ reader: PageReader, stop: StopRequest) throws {
        var output = try files.exists(copy) ? files.append(to: copy) : files.create(copy, mode: 0o600)
        let done = try files.exists(mark) ? Int64(String(decoding: files.read(mark), as: UTF8.self)) ?? 0 : 0
        try output.truncate(to: (0...output.offset).contains(done) ? done : 0)
        var worked: UInt64 = 0
        while output.offset < reader.byteCount {
            try stop.checkBetweenUnits(after: worked)
            let start = Clock.nanoseconds()
            defer { worked = Clock.nanoseconds(since: start) }
            try reader.write(to: &output, limit: Self.copiedBytes, stop: stop)
            try output.sync()
            try files.replace(mark, with: Array(String(output.offset).utf8), mode: 0o600)
            stop.unitIsDone()
        }
        try output.close()
        try place()
        try files.removeIfPresent(mark)
    }

    /// Copies the source of a step: the destination of the step before, or with nil the store.
    ///
    /// Where the volume can, the copy is a clone, which takes neither time nor space.
    func run(ofStepAfter previous: String?, _ sourceGuard: SourceGuard, _ options: EngineOptions) throws {
        options.progress?(ProgressUpdate(phase: .rows, subject: Self.subject))
        guard let previous else {
            let reader = try PageReader(sourceGuard.connection)
            if try !reader.readsLog && clone(sourceGuard.clonedFile()) { return }
            return try run(reader, stop: options.stop)
        }
        if try clone(ClonedFile(previous, files: files)) { return }
        let connection = try Connection(path: previous, mode: .immutable)
        try connection.execute("BEGIN")
        try run(PageReader(connection), stop: options.stop)
    }

    /// - Returns: False if the volume cannot clone, or an earlier call has begun to copy pages.
    private func clone(_ source: ClonedFile) throws -> Bool {
        guard try !files.exists(mark) else { return false }
        try files.removeIfPresent(copy)
        guard try source.clone(to: copy) else { return false }
        try files.syncFile(copy)
        try place()
        return true
    }

    private func place() throws {
        try files.rename(copy, to: destination)
        try files.syncFolder(folder)
    }

    /// Compares the copy with its source byte for byte.
    ///
    /// - Throws: ``FerryError`` `.verificationFailed` if they differ.
    func verify(against reader: PageReader, stop: StopRequest) throws {
        let copy = try files.open(destination)
        let piece = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * piece, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        var isEqual = try copy.size() == reader.byteCount
        while isEqual, offset < reader.byteCount {
            try stop.check()
            let count = Int(min(Int64(piece), reader.byteCount - offset))
            let own = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            let expected = UnsafeMutableRawBufferPointer(rebasing: buffer[piece..<piece + count])
            try reader.read(into: expected, at: offset)
            isEqual = try copy.read(into: own, at: offset) == count && compareBytes(.init(own), .init(expected)) == 0
            offset += Int64(count)
        }
        guard isEqual else {
            throw FerryError(
                .verificationFailed, "The copy \(destination) differs from the store.",
                remedy: """
                    \(action: .again) with \(on: .restart), which copies it again. If that \
                    fails too, the disk is faulty.
                    """)
        }
    }
}
