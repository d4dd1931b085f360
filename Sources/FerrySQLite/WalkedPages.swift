internal import CSQLite

/// The pages of a database as a walk over its b-trees asks for them: each once, and those that lie one after another
/// many at a time.
struct WalkedPages {
    /// What `auto_vacuum` notes of a page.
    enum Kind: UInt8 { case root = 1, free, firstOverflow, overflow, tree }

    private static let windowBytes = 256 << 10
    private static let noteBytes = 256 << 10

    let count: UInt32
    /// Bytes of a page that b-trees may use.
    let usable: UInt32
    let firstFree: UInt32
    let freeCount: UInt32
    /// Not zero with `auto_vacuum`.
    let largestRoot: UInt32
    let isIncremental: Bool

    private let reader: PageReader
    private let pageSize: Int
    private let window: UnsafeMutableRawPointer
    private var first: UInt32 = 0
    private var filled: UInt32 = 0
    /// Pages that are read at once at most.
    let most: UInt32
    private let word: UnsafeMutableRawBufferPointer

    /// Pages of notes, each in the place that its number gives it.
    private let notes: UnsafeMutableRawPointer
    private let noteSlots: Int
    private var noted: [UInt32]

    /// Nil where the file is not as its header says.
    init?(_ reader: PageReader, count: Int64) throws(DatabaseError) {
        let pageSize = reader.pageSize
        guard count > 0, count < Int64(UInt32.max), count * Int64(pageSize) <= reader.byteCount else { return nil }
        let start = UnsafeMutableRawBufferPointer.allocate(byteCount: DatabaseHeader.byteCount, alignment: 8)
        defer { start.deallocate() }
        try reader.read(into: start, at: 0)
        let bytes = Array(start)
        guard let header = DatabaseHeader(bytes), header.pageSize == pageSize, pageSize - Int(bytes[20]) >= 480 else {
            return nil
        }
        self.reader = reader
        self.pageSize = pageSize
        self.count = UInt32(count)
        usable = UInt32(pageSize - Int(bytes[20]))
        firstFree = Self.number(start, at: 32)
        freeCount = Self.number(start, at: 36)
        largestRoot = header.largestRootPage
        isIncremental = header.incrementalVacuum
        most = UInt32(max(1, Self.windowBytes / pageSize))
        window = .allocate(byteCount: Int(most) * pageSize, alignment: 4096)
        word = .allocate(byteCount: 4, alignment: 4)
        noteSlots = max(1, Self.noteBytes / pageSize)
        notes = .allocate(byteCount: noteSlots * pageSize, alignment: 4096)
        noted = [UInt32](repeating: 0, count: noteSlots)
    }

    func free() {
        window.deallocate()
        word.deallocate()
        notes.deallocate()
    }

    // MARK: Pages

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - run: How many pages from it on will be asked for next.
    /// - Returns: Its bytes, until the next call; nil for one that the file does not have.
    /// - Throws: ``DatabaseError``.
    mutating func bytes(of page: UInt32, run: UInt32 = 1) throws(DatabaseError) -> UnsafePointer<UInt8>? {
        guard page > 0, page <= count else { return nil }
        if page < first || page - first >= filled {
            let pages = max(1, min(run, most, count - page + 1))
            filled = 0
            try read(page, pages, into: window)
            (first, filled) = (page, pages)
        }
        return UnsafeRawPointer(window + Int(page - first) * pageSize).assumingMemoryBound(to: UInt8.self)
    }

    private func read(_ page: UInt32, _ pages: UInt32, into place: UnsafeMutableRawPointer) throws(DatabaseError) {
        try reader.read(
            into: UnsafeMutableRawBufferPointer(start: place, count: Int(pages) * pageSize),
            at: Int64(page - 1) * Int64(pageSize))
    }

    /// The number at the start of a page; nil for one that the file does not have.
    mutating func firstNumber(of page: UInt32) throws(DatabaseError) -> UInt32? {
        guard page > 0, page <= count else { return nil }
        if page >= first, page - first < filled, let bytes = try bytes(of: page) { return ferry_four(bytes) }
        try reader.read(into: word, at: Int64(page - 1) * Int64(pageSize))
        return Self.number(word, at: 0)
    }

    private static func number(_ bytes: UnsafeMutableRawBufferPointer, at place: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    // MARK: The notes of auto_vacuum

    /// The page that SQLite takes no part of, since its locks are there.
    var lockPage: UInt32 { UInt32((1 << 30) / pageSize) + 1 }

    /// The page on which the notes of another one stand, which is itself for a page of notes.
    func mapPage(of page: UInt32) -> UInt32 {
        guard page >= 2 else { return 0 }
        let covered = usable / 5 + 1
        let map = (page - 2) / covered * covered + 2
        return map == lockPage ? map + 1 : map
    }

    /// What is noted of a page, and the page that leads to it; nil for one that has no note.
    mutating func note(of page: UInt32) throws(DatabaseError) -> (kind: UInt8, parent: UInt32)? {
        let map = mapPage(of: page)
        guard page > map, map > 0, page <= count, (page - map) * 5 <= usable else { return nil }
        let slot = Int(map / (usable / 5 + 1)) % noteSlots
        let place = notes + slot * pageSize
        if noted[slot] != map {
            noted[slot] = 0
            try read(map, 1, into: place)
            noted[slot] = map
        }
        let entry = UnsafeRawPointer(place).assumingMemoryBound(to: UInt8.self) + 5 * Int(page - map - 1)
        return (entry[0], ferry_four(entry + 1))
    }
}
