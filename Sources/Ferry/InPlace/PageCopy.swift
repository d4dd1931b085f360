internal import FerryBase
internal import FerrySQLite

/// A copy of a database's content as SQLite reads it, page by page; only a whole copy gets the destination's name.
struct PageCopy {
    /// Where the copy is made.
    let folder: String
    let destination: String
    let files: FileLayer

    /// As much is copied again at most, when a copy is stopped.
    private static let copiedBytes: Int64 = 64 << 20

    /// Copies what is not copied yet.
    ///
    /// - Throws: ``FerryError``, ``DatabaseError``, or the reason of the stop request; the next call then goes on.
    func run(_ reader: PageReader, stop: StopRequest) throws {
        let (copy, mark) = (folder + "/copy.sqlite", folder + "/copied")
        var output = try files.exists(copy) ? files.append(to: copy) : files.create(copy, mode: 0o600)
        let done = try files.exists(mark) ? Int64(String(decoding: files.read(mark), as: UTF8.self)) ?? 0 : 0
        try output.truncate(to: (0...output.offset).contains(done) ? done : 0)
        while output.offset < reader.byteCount {
            try stop.check()
            try reader.write(to: &output, limit: Self.copiedBytes, stop: stop)
            try output.sync()
            try files.replace(mark, with: Array(String(output.offset).utf8), mode: 0o600)
            stop.unitIsDone()
        }
        try output.close()
        try files.rename(copy, to: destination)
        try files.syncFolder(folder)
        try files.removeIfPresent(mark)
    }

    /// Compares the copy with what it was made from, byte for byte.
    ///
    /// - Throws: ``FerryError`` `.verificationFailed` where they differ.
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
            var filled = 0
            while filled < count {
                let read = try copy.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: own[filled...]), at: offset + Int64(filled))
                if read == 0 { break }
                filled += read
            }
            isEqual = filled == count && compareBytes(.init(own), .init(expected)) == 0
            offset += Int64(count)
        }
        guard isEqual else {
            throw FerryError(
                .verificationFailed, "The copy \(destination) is not, to the byte, what the store holds.",
                remedy: """
                    \(action: .again) with \(on: .restart), which makes the copy anew. Where that \
                    fails, too, the disk does not keep what is written to it.
                    """)
        }
    }
}
