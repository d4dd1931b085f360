internal import CDatabase
internal import CSQLite
package import FerryBase

/// A database as it was before the transaction that is being committed: a page that the rollback journal holds is read
/// from there, any other from the database file.
///
/// SQLite writes each page into the journal once, before it changes the page in the file. The format is that of
/// section 3 of SQLite's file format: a header at the start of a sector, then its records; more headers may follow.
///
/// Memory: none that grows. The places of pages in the journal are in a file: eight bytes for each page of the
/// database, with holes where no page is journaled.
///
/// Unchecked, because the files are only read after `init`, at given offsets.
package final class JournaledPages: @unchecked Sendable {
    private let journal: InputFile
    private let places: InputFile
    private let pageSize: Int64
    fileprivate let byteCount: Int64

    private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    private static let headerBytes = 28
    /// The number of records of a header that SQLite does not update, because the file's size tells it.
    private static let untold: UInt32 = 0xffff_ffff
    private static let entryBytes: Int64 = 8

    /// Reads where the journal's pages are; the file at `places` must not exist, and is removed.
    ///
    /// - Throws: ``FerryError`` `.internalError` for a journal of another form.
    package init(ofJournal path: String, places: String, files: FileLayer) throws {
        let journal = try files.open(path)
        let size = try journal.size()
        var output = try files.create(places, mode: 0o600)
        var (offset, first): (Int64, Header?) = (0, nil)
        while let header = try Header(at: offset, in: journal) {
            let known = first ?? header
            first = known
            guard header.pageSize == known.pageSize, header.sectorSize == known.sectorSize else { break }
            offset += header.sectorSize
            let record = header.pageSize + 8
            let fitting = max(0, (size - offset) / record)
            let count = header.records == Self.untold ? fitting : min(fitting, Int64(header.records))
            try Self.write(records: count, of: journal, at: offset, record, to: &output)
            offset = (offset + count * record + header.sectorSize - 1) / header.sectorSize * header.sectorSize
        }
        guard let first else {
            throw FerryError(.internalError, "\(path) is not the journal of a transaction that is being committed.")
        }
        (pageSize, byteCount) = (first.pageSize, first.pages * first.pageSize)
        let end = (first.pages + 1) * Self.entryBytes
        if output.offset < end { try output.truncate(to: end) }
        try output.close()
        self.places = try files.open(places)
        try files.remove(places)
        self.journal = journal
    }

    private static func write(
        records: Int64, of journal: borrowing InputFile, at start: Int64, _ record: Int64, to output: inout OutputFile
    ) throws {
        for index in 0..<records {
            let place = start + index * record
            let number = try journal.read(count: 4, at: place)
            guard number.count == 4 else { return }
            let page = number.reduce(Int64(0)) { $0 << 8 | Int64($1) }
            try withUnsafeBytes(of: (place + 4).littleEndian) {
                try output.overwrite($0, at: page * entryBytes)
            }
        }
    }

    private struct Header {
        let records: UInt32
        let pages: Int64
        let sectorSize: Int64
        let pageSize: Int64

        /// Nil if there is none.
        init?(at offset: Int64, in journal: borrowing InputFile) throws {
            let bytes = try journal.read(count: JournaledPages.headerBytes, at: offset)
            guard bytes.count == JournaledPages.headerBytes, bytes.starts(with: JournaledPages.magic) else {
                return nil
            }
            func number(_ place: Int) -> UInt32 { bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
            (records, pages) = (number(8), Int64(number(16)))
            (sectorSize, pageSize) = (Int64(number(20)), Int64(number(24)))
            guard (32...65_536).contains(sectorSize), (512...65_536).contains(pageSize) else { return nil }
        }
    }

    // MARK: Reading

    /// Fills the buffer from an offset, by `inner` from the database file, and returns a code of SQLite.
    fileprivate func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64,
        _ inner: (UnsafeMutableRawBufferPointer, Int64) -> Int32
    ) -> Int32 {
        let available = Int(max(0, min(Int64(buffer.count), byteCount - offset)))
        var done = 0
        do {
            while done < available {
                let place = offset + Int64(done)
                let (page, inPage) = (place / pageSize + 1, place % pageSize)
                let (journaled, pages) = try self.place(
                    of: page, upTo: (inPage + Int64(available - done) + pageSize - 1) / pageSize)
                let count = Int(min(Int64(available - done), pages * pageSize - inPage))
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
                if let journaled {
                    guard try journal.read(into: part, at: journaled + inPage) == count else {
                        return SQLITE_IOERR
                    }
                } else {
                    let code = inner(part, place)
                    guard code == SQLITE_OK else { return code }
                }
                done += count
            }
        } catch {
            return SQLITE_IOERR
        }
        guard available < buffer.count else { return SQLITE_OK }
        buffer[available...].initializeMemory(as: UInt8.self, repeating: 0)
        return ExtendedCode.shortRead
    }

    /// The place of a page in the journal, or nil with the number of pages from this one on that are not there.
    private func place(of page: Int64, upTo most: Int64) throws -> (journaled: Int64?, pages: Int64) {
        try withUnsafeTemporaryAllocation(of: Int64.self, capacity: 64) { entries in
            let wanted = UnsafeMutableBufferPointer(rebasing: entries[..<Int(max(1, min(most, 64)))])
            let found = try places.read(into: UnsafeMutableRawBufferPointer(wanted), at: page * Self.entryBytes)
            let count = found / Int(Self.entryBytes)
            guard count > 0 else { throw FerryError(.internalError, "A page is not one of the old database.") }
            if wanted[0] != 0 { return (Int64(littleEndian: wanted[0]), 1) }
            return (nil, Int64(wanted[..<count].prefix { $0 == 0 }.count))
        }
    }
}

/// The filter before a database file that shows it as it was (``JournaledPages``).
struct JournaledFile {
    private var filter: ferry_filter_file
    private var pages: Unmanaged<JournaledPages>

    private static func pages(of file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<JournaledPages> {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: JournaledFile.self).pointee.pages
    }

    static func install(
        _ file: UnsafeMutablePointer<sqlite3_file>, before inner: UnsafeMutablePointer<sqlite3_file>,
        _ pages: JournaledPages
    ) {
        UnsafeMutableRawPointer(file).initializeMemory(
            as: JournaledFile.self, to: JournaledFile(filter: ferry_filter_file(), pages: .passRetained(pages)))
        let filter = UnsafeMutableRawPointer(file).assumingMemoryBound(to: ferry_filter_file.self)
        ferry_filter_install(filter, inner)
        filter.pointee.methods.xClose = { file in
            let code = ferry_pass_close(file)
            JournaledFile.pages(of: file).release()
            return code
        }
        filter.pointee.methods.xRead = { file, bytes, count, offset in
            JournaledFile.pages(of: file)._withUnsafeGuaranteedRef { pages in
                pages.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: offset) {
                    ferry_pass_read(file, $0.baseAddress, Int32($0.count), $1)
                }
            }
        }
        filter.pointee.methods.xFileSize = { file, size in
            size?.pointee = JournaledFile.pages(of: file)._withUnsafeGuaranteedRef { $0.byteCount }
            return SQLITE_OK
        }
        // SQLite must read by ``xRead`` alone.
        filter.pointee.methods.iVersion = min(filter.pointee.methods.iVersion, 2)
        filter.pointee.methods.xFetch = nil
        filter.pointee.methods.xUnfetch = nil
    }
}
