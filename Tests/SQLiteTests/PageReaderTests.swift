import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("The page reader")
struct PageReaderTests {
    let folder: TemporaryFolder
    let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    /// Returns the content from the reader, in pieces whose size fits no page.
    private func content(_ path: String, piece: Int = 100_003) throws -> [UInt8] {
        let connection = try Connection(path: path, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("BEGIN IMMEDIATE")
        defer { try? connection.execute("ROLLBACK") }
        let reader = try PageReader(connection)
        var bytes = [UInt8](repeating: 0xAA, count: Int(reader.byteCount))
        try bytes.withUnsafeMutableBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let end = min(offset + piece, buffer.count)
                try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<end]), at: Int64(offset))
                offset = end
            }
        }
        return bytes
    }

    /// Returns the main file of a copy after `wal_checkpoint(TRUNCATE)`.
    private func checkpointed(_ path: String) throws -> [UInt8] {
        let copy = path + ".checkpointed"
        try Fixtures.copyStore(from: path, to: copy)
        do {
            let connection = try Connection(path: copy, mode: .readWrite)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        return try files.read(copy, limit: 1 << 30)
    }

    /// Checks both ways of reading against SQLite's own checkpoint, and that the files stay unchanged.
    private func check(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let main = try files.read(path, limit: 1 << 30)
        let log = try files.exists(path + "-wal") ? files.read(path + "-wal", limit: 1 << 30) : []
        let expected = log.isEmpty ? main : try checkpointed(path)
        #expect(try content(path) == expected, sourceLocation: sourceLocation)
        #expect(try content(path, piece: 1 << 20) == expected, sourceLocation: sourceLocation)
        #expect(try files.read(path, limit: 1 << 30) == main, sourceLocation: sourceLocation)
        let logAfter = try files.exists(path + "-wal") ? files.read(path + "-wal", limit: 1 << 30) : []
        #expect(logAfter == log, sourceLocation: sourceLocation)
    }

    @Test(
        "Every real store is read as a checkpoint of a copy leaves it",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)), arguments: Fixtures.stores)
    func realStores(store: String) throws {
        try check(try Fixtures.copyStore(store, into: folder))
    }

    @Test(
        "The real stores with a filled -wal are read through it",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)),
        arguments: [
            "wibosco-posts/CoreDataMigration_Example_WAL.sqlite", "duckduckgo-bookmarks/Bookmarks_V1.sqlite",
            "duckduckgo-bookmarks/Bookmarks_V5.sqlite", "flickrsearcher/starter_database.sqlite",
            "kodeco-surfjournal/SurfJournalModel.sqlite",
        ])
    func realLogs(store: String) throws {
        let path = try Fixtures.copyStore(store, into: folder)
        let main = try files.read(path)
        #expect(try files.attributes(path + "-wal").size > 0 && DatabaseHeader(main)?.usesWriteAheadLog == true)
        #expect(try !DatabaseFiles.hasHotJournal(path, files: files))
        let content = try content(path)
        #expect(content != main)
        // The content is a complete database.
        try files.replace(folder.file("content.sqlite"), with: content)
        let connection = try Connection(path: folder.file("content.sqlite"), mode: .immutable)
        #expect(try connection.value("PRAGMA integrity_check")?.text == "ok")
    }

    /// Makes a database, and a copy of it with its `-wal` while it is open.
    private func build(
        pageSize: Int = 4096, autoVacuum: Bool = false, _ body: (Connection) throws -> Void
    ) throws -> String {
        let path = folder.file("live.sqlite")
        let connection = try Connection(path: path, mode: .create)
        connection.keepWriteAheadLogOnClose()
        try connection.setPragma("page_size", to: Int64(pageSize))
        try connection.setPragma("auto_vacuum", to: autoVacuum ? 1 : 0)
        _ = try connection.setPragma("journal_mode", to: "wal")
        try connection.setPragma("wal_autocheckpoint", to: 0)
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try body(connection)
        let copy = folder.file("copy.sqlite")
        try Fixtures.copyStore(from: path, to: copy)
        return copy
    }

    private func fill(_ connection: Connection, rows: Int, bytes: Int = 900) throws {
        try connection.execute(
            """
            INSERT INTO t(x) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            SELECT randomblob(\(bytes)) FROM n
            """)
    }

    @Test("Every page size is read", arguments: [512, 1024, 8192, 65536])
    func pageSizes(pageSize: Int) throws {
        let path = try build(pageSize: pageSize) { connection in
            try fill(connection, rows: 300)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try fill(connection, rows: 50)
            try connection.execute("UPDATE t SET x = randomblob(70000) WHERE id % 60 = 0")
        }
        try check(path)
    }

    @Test("A database that the -wal shortens ends where its last commit says")
    func shrunk() throws {
        let path = try build(autoVacuum: true) { connection in
            try fill(connection, rows: 2000)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try connection.execute("DELETE FROM t WHERE id > 100")
        }
        let main = try files.attributes(path).size
        #expect(try content(path).count < main)
        try check(path)
    }

    @Test("A database that is only in the -wal is read whole")
    func grown() throws {
        let path = try build { connection in
            try fill(connection, rows: 3000)
            try connection.execute("DELETE FROM t WHERE id % 3 = 0")
        }
        try check(path)
    }

    @Test("Frames after the last commit, truncated frames and damaged frames end the log", arguments: 0..<6)
    func damaged(kind: Int) throws {
        let path = try build { connection in
            try fill(connection, rows: 200)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for _ in 0..<5 { try fill(connection, rows: 20) }
        }
        var log = try files.read(path + "-wal")
        switch kind {
        case 0: log.removeLast(1000)  // the last frame, the commit, is not whole
        case 1: log[log.count / 2] ^= 1  // a page
        case 2: log[32 + 4120 * 7 + 17] ^= 0x40  // a checksum
        case 3: log[32 + 4120 * 3 + 9] ^= 0x01  // a salt
        case 4: log[40] ^= 1  // the first frame
        default: log[3] ^= 0x10  // the magic number of the log: all of it is void
        }
        try files.replace(path + "-wal", with: log)
        try check(path)
    }

    @Test("A log that restarted over an older one ends before the older frames")
    func begunAgain() throws {
        let path = try build { connection in
            try fill(connection, rows: 500)
            // Without truncating, the next writer begins at the front, and old frames stay behind.
            try connection.execute("PRAGMA wal_checkpoint(RESTART)")
            try fill(connection, rows: 5)
        }
        try check(path)
    }

    @Test("A log with checksums of the other byte order is read", arguments: [false, true])
    func byteOrders(bigEndian: Bool) throws {
        let path = try build { connection in
            try fill(connection, rows: 100)
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try fill(connection, rows: 30)
        }
        try files.replace(path + "-wal", with: rewritten(try files.read(path + "-wal"), bigEndian: bigEndian))
        #expect(try content(path) != files.read(path))
        try check(path)
    }

    /// Returns the log with its magic number and all checksums in a byte order, by a simple computation.
    private func rewritten(_ log: [UInt8], bigEndian: Bool) -> [UInt8] {
        var log = log
        var sums: (UInt32, UInt32) = (0, 0)
        func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
        func add(_ range: Range<Int>) {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                let words = [log[start..<start + 4], log[start + 4..<start + 8]].map {
                    bigEndian ? number($0) : number($0).byteSwapped
                }
                sums.0 = sums.0 &+ words[0] &+ sums.1
                sums.1 = sums.1 &+ words[1] &+ sums.0
            }
        }
        func put(_ value: UInt32, at offset: Int) {
            for index in 0..<4 { log[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
        }
        put(bigEndian ? 0x377f_0683 : 0x377f_0682, at: 0)
        add(0..<24)
        put(sums.0, at: 24)
        put(sums.1, at: 28)
        for start in stride(from: 32, to: log.count, by: 24 + 4096) {
            add(start..<start + 8)
            add(start + 24..<start + 24 + 4096)
            put(sums.0, at: start + 16)
            put(sums.1, at: start + 20)
        }
        return log
    }

    @Test("Pages around and beyond 1 GiB are read in any order, also the page that SQLite never uses")
    func largeDatabase() throws {
        let path = try sparse(pages: 262_160)
        let lockPage = Int64(1 << 30)
        do {
            let connection = try Connection(path: path, mode: .readWrite)
            connection.keepWriteAheadLogOnClose()
            _ = try connection.setPragma("journal_mode", to: "wal")
            try fill(connection, rows: 100)
        }
        let connection = try Connection(path: path, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("BEGIN IMMEDIATE")
        let reader = try PageReader(connection)
        #expect(reader.readsLog && reader.byteCount > 262_160 * 4096)
        let places: [Int64] = [0, lockPage - 4096, reader.byteCount - 8192, lockPage, 4096, reader.byteCount - 4096]
        var pages: [[UInt8]] = []
        for place in places {
            var page = [UInt8](repeating: 0, count: 4096)
            try page.withUnsafeMutableBytes { try reader.read(into: $0, at: place) }
            pages.append(page)
        }
        #expect(pages[3] == [UInt8](repeating: 0x5A, count: 4096))
        try connection.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try files.attributes(path).size == reader.byteCount)
        let file = try files.open(path)
        for (place, page) in zip(places, pages) { #expect(try file.read(count: 4096, at: place) == page) }
    }

    /// Makes a sparse database, whose header has the given number of pages of 4096 bytes.
    private func sparse(pages: UInt32) throws -> String {
        let path = folder.file("sparse.sqlite")
        let start = folder.file("start.sqlite")
        do {
            let connection = try Connection(path: start, mode: .create)
            try connection.setPragma("page_size", to: 4096)
            try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        }
        var bytes = try files.read(start)
        for index in 0..<4 { bytes[28 + index] = UInt8(truncatingIfNeeded: pages >> UInt32(24 - 8 * index)) }
        var output = try files.create(path)
        try output.write(bytes)
        try output.truncate(to: 1 << 30)
        try output.write([UInt8](repeating: 0x5A, count: 4096))
        try output.truncate(to: Int64(pages) * 4096)
        try output.close()
        return path
    }

    @Test("Without a transaction reading is refused")
    func outsideATransaction() throws {
        let path = try build { try fill($0, rows: 1) }
        let connection = try Connection(path: path, mode: .readWrite)
        #expect(throws: DatabaseError.self) { try PageReader(connection) }
    }

    @Test("The content is written to a file, and a stop request ends the writing")
    func writing() throws {
        let path = try build { try fill($0, rows: 2000) }
        let connection = try Connection(path: path, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        try connection.execute("BEGIN IMMEDIATE")
        let reader = try PageReader(connection)
        #expect(reader.readsLog)
        var output = try files.create(folder.file("out.sqlite"))
        try reader.write(to: &output)
        try output.close()
        #expect(try files.read(folder.file("out.sqlite")) == checkpointed(path))
        let stop = StopRequest()
        stop.request(FerryError(.interrupted, "Stopped."))
        var other = try files.create(folder.file("other.sqlite"))
        #expect { try reader.write(to: &other, stop: stop) } throws: { ($0 as? FerryError)?.code == .interrupted }
    }

    @Test("A fingerprint stays without writes, and changes with every commit and checkpoint")
    func fingerprint() throws {
        let path = try build { try fill($0, rows: 20) }
        func fingerprint() throws -> DatabaseFingerprint {
            let connection = try Connection(path: path, mode: .readWrite)
            connection.keepWriteAheadLogOnClose()
            try connection.execute("BEGIN IMMEDIATE")
            return try PageReader(connection).fingerprint(files: files)
        }
        func write(_ sql: String) throws {
            let connection = try Connection(path: path, mode: .readWrite)
            connection.keepWriteAheadLogOnClose()
            try connection.execute(sql)
        }
        let first = try fingerprint()
        #expect(try fingerprint() == first)
        try write("UPDATE t SET x = 1 WHERE id = 1")
        let second = try fingerprint()
        #expect(second != first)
        try write("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try fingerprint() != second)
    }
}
