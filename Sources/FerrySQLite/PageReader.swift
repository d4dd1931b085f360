package import FerryBase

/// A reader of a database's content through an open connection, page by page.
///
/// Page n is its last committed frame in the `-wal`, else the page of the main file. Without committed frames, the
/// content equals the main file byte for byte; otherwise the result of `wal_checkpoint(TRUNCATE)` on a copy. The page
/// at 1 GiB, which SQLite never uses, is read raw like any other.
///
/// The connection must hold a transaction from before the `init` until the last read: one that has written or began
/// with `BEGIN IMMEDIATE`, so that no connection appends to the `-wal`. For use on the connection's thread.
package final class PageReader {
    package let connection: Connection
    package let pageSize: Int
    package let byteCount: Int64
    private let main: OpenFile
    private let mainBytes: Int64
    private let logBytes: Int64
    private var log: WriteAheadLog?

    package var readsLog: Bool { log != nil }

    /// - Throws: ``DatabaseError``; `SQLITE_MISUSE` outside a transaction.
    package init(_ connection: Connection) throws(DatabaseError) {
        guard connection.isInTransaction else {
            throw DatabaseError(code: 21, message: "pages are read inside a transaction only")
        }
        // A deferred transaction begins with its first statement.
        guard let pageSize = try connection.pragma("page_size")?.integer,
            try connection.value("SELECT count(*) FROM main.sqlite_master") != nil,
            let main = try OpenFile(.main, of: connection, schema: "main")
        else {
            throw DatabaseError(code: 1, message: "the database has no file")
        }
        self.connection = connection
        self.main = main
        mainBytes = try main.size()
        if try connection.pragma("journal_mode")?.text == "wal",
            let journal = try OpenFile(.journal, of: connection, schema: "main")
        {
            log = try WriteAheadLog(journal)
            logBytes = try journal.size()
        } else {
            logBytes = 0
        }
        self.pageSize = log?.pageSize ?? Int(pageSize)
        byteCount = log.map { Int64($0.pageCount) * Int64($0.pageSize) } ?? mainBytes
    }

    /// Fills the buffer from an offset; both must lie within ``byteCount``.
    ///
    /// Sequential reads are fast for any size of the `-wal`; see ``WriteAheadLog``.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DatabaseError) {
        precondition(
            offset >= 0 && offset + Int64(buffer.count) <= byteCount, "pages are read within the content only")
        if buffer.isEmpty { return }
        guard log != nil else { return try main.read(into: buffer, at: offset, zeroFills: false) }
        // Runs of pages in the main file are one read.
        var runStart = 0
        var position = 0
        while position < buffer.count {
            let place = offset + Int64(position)
            let inPage = Int(place % Int64(pageSize))
            let count = min(pageSize - inPage, buffer.count - position)
            if let frame = try log?.offset(ofPage: UInt32(place / Int64(pageSize)) + 1) {
                try readMain(into: buffer, runStart..<position, at: offset)
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[position..<position + count])
                try log?.read(into: part, at: frame + Int64(inPage))
                runStart = position + count
            }
            position += count
        }
        try readMain(into: buffer, runStart..<position, at: offset)
    }

    private func readMain(
        into buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>, at offset: Int64
    ) throws(DatabaseError) {
        if range.isEmpty { return }
        // A checkpoint fills pages past the main file's end with zeros if no frame has them.
        try main.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[range]), at: offset + Int64(range.lowerBound),
            zeroFills: true)
    }

    /// Writes content to a file at the same offset: from the file's end on, all or up to a limit.
    ///
    /// - Throws: ``DatabaseError``, ``FerryError``, or the reason of the stop request.
    package func write(
        to output: inout OutputFile, limit: Int64 = .max, stop: StopRequest = StopRequest()
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var offset = output.offset
        let end = min(byteCount, offset + min(limit, byteCount))
        while offset < end {
            try stop.check()
            let part = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(Int64(buffer.count), end - offset))])
            try read(into: part, at: offset)
            try output.write(UnsafeRawBufferPointer(part))
            offset += Int64(part.count)
        }
    }

    /// Returns the identity of this state of the database's files.
    ///
    /// - Throws: ``FerryError`` if the path has no attributes, ``DatabaseError`` if the file cannot be read.
    package func fingerprint(files: FileLayer) throws -> DatabaseFingerprint {
        let attributes = try files.attributes(connection.path)
        var header = [UInt8](repeating: 0, count: Int(min(Int64(DatabaseHeader.byteCount), mainBytes)))
        if !header.isEmpty { try main.read(&header, at: 0) }
        var fingerprint = DatabaseFingerprint(unread: attributes)
        fingerprint.header = header.hexadecimal
        fingerprint.walBytes = logBytes
        fingerprint.walHeader = log?.header.hexadecimal
        fingerprint.walLastFrame = log?.lastFrameHeader.hexadecimal
        fingerprint.walFrames = log?.frameCount
        return fingerprint
    }
}
