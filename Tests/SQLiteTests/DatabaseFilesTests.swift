import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("The files of a database")
struct DatabaseFilesTests {
    let folder: TemporaryFolder
    let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    private func make(_ name: String = "a.sqlite") throws -> String {
        let connection = try Connection(path: folder.file(name), mode: .create)
        try connection.setPragma("page_size", to: 1024)
        try connection.execute("CREATE TABLE t(x); PRAGMA user_version = 5")
        return folder.file(name)
    }

    @Test("A database's header is read")
    func header() throws {
        let path = try make()
        let content = try files.read(path)
        let header = try #require(DatabaseHeader(content))
        #expect(header.pageSize == 1024 && !header.usesWriteAheadLog)
        #expect(try !DatabaseFiles.hasHotJournal(path, files: files))
    }

    static let foreign: [(bytes: [UInt8], words: String)] = [
        (Array("bplist00".utf8), "a binary property list"),
        ([0x28, 0xB5, 0x2F, 0xFD, 0], "a Zstandard archive"),
        (Array("hello, world".utf8), "a text file"),
        (Array("SQLite format 3\0".utf8), "truncated within its header"),
        (Array("SQLite format 3\0".utf8) + [UInt8](repeating: 3, count: 200), "damaged in its header"),
        ([UInt8](repeating: 0, count: 4096), "a file of zero bytes"),
        ((0..<200).map { (index: Int) -> UInt8 in UInt8(truncatingIfNeeded: index * 167 + 13) }, "encrypted"),
    ]

    @Test("A file that is no database is named with its kind", arguments: foreign)
    func others(bytes: [UInt8], words: String) throws {
        let start = Array(bytes.prefix(DatabaseHeader.byteCount))
        #expect(DatabaseHeader(start) == nil && DatabaseFiles.guess(start).contains(words))
    }

    @Test("A missing or empty database has no hot journal")
    func absent() throws {
        for (name, bytes) in [("none", nil), ("empty", [UInt8]())] {
            let path = folder.file(name)
            if let bytes { try files.replace(path, with: bytes) }
            try files.replace(path + "-journal", with: [1, 2, 3])
            #expect(try !DatabaseFiles.hasHotJournal(path, files: files))
        }
    }

    @Test("A journal is hot only while its first byte is not zero, as in SQLite")
    func journals() throws {
        let path = try make()
        try files.replace(path + "-journal", with: [])
        #expect(try !DatabaseFiles.hasHotJournal(path, files: files))
        try files.replace(path + "-journal", with: [UInt8](repeating: 0, count: 512))
        #expect(try !DatabaseFiles.hasHotJournal(path, files: files))

        // A real hot journal: a copy within a transaction that has already written pages.
        let live = try Connection(path: try make("live.sqlite"), mode: .readWrite)
        try live.execute(
            "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; INSERT INTO t VALUES (zeroblob(100000))")
        let copy = folder.file("copy.sqlite")
        try files.copy(folder.file("live.sqlite-journal"), to: copy + "-journal")
        try files.copy(path, to: copy)
        #expect(try DatabaseFiles.hasHotJournal(copy, files: files))
        try live.execute("ROLLBACK")
    }
}
