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
        let state = try DatabaseFiles(path: try make()).requireDatabase(files: files)
        let header = try #require(state.header)
        #expect(header.pageSize == 1024 && header.userVersion == 5 && !header.usesWriteAheadLog)
        #expect(Int64(header.pageCount) * 1024 == state.main?.size)
        #expect(header.changeCounter == header.versionValidFor)
        #expect(state.walBytes == nil && state.journalBytes == nil && !state.hasHotJournal && !state.hasFilledLog)
    }

    static let foreign: [(bytes: [UInt8], words: String)] = [
        (Array("bplist00".utf8), "a binary property list"),
        ([0x28, 0xB5, 0x2F, 0xFD, 0], "a Zstandard archive"),
        (Array("hello, world".utf8), "a text file"),
        (Array("SQLite format 3\0".utf8), "cut off within its header"),
        (Array("SQLite format 3\0".utf8) + [UInt8](repeating: 3, count: 200), "damaged in its header"),
        ([UInt8](repeating: 0, count: 4096), "a file of zero bytes"),
        ((0..<200).map { (index: Int) -> UInt8 in UInt8(truncatingIfNeeded: index * 167 + 13) }, "encrypted"),
    ]

    @Test("A file that is no database is named with its kind", arguments: foreign)
    func others(bytes: [UInt8], words: String) throws {
        let path = folder.file("x.sqlite")
        try files.replace(path, with: bytes)
        #expect { try DatabaseFiles(path: path).requireDatabase(files: files) } throws: { error in
            guard let error = error as? FerryError else { return false }
            return error.code == .notADatabase && error.message.contains(words) && error.message.contains(path)
        }
    }

    @Test("A missing file, an empty file and a folder are distinguished")
    func absent() throws {
        #expect(try DatabaseFiles(path: folder.file("none")).inspect(files: files).kind == .missing)
        #expect {
            try DatabaseFiles(path: folder.file("none")).requireDatabase(files: files)
        } throws: { ($0 as? FerryError)?.code == .notFound }
        #expect(try DatabaseFiles(path: folder.path).inspect(files: files).kind == .folder)
        try files.replace(folder.file("empty"), with: [])
        #expect(try DatabaseFiles(path: folder.file("empty")).inspect(files: files).kind == .empty)
    }

    @Test("A journal is hot only while its first byte is not zero, as in SQLite")
    func journals() throws {
        let path = try make()
        let database = DatabaseFiles(path: path)
        try files.replace(database.journalPath, with: [])
        #expect(try !database.inspect(files: files).hasHotJournal)
        try files.replace(database.journalPath, with: [UInt8](repeating: 0, count: 512))
        #expect(try !database.inspect(files: files).hasHotJournal)

        // A real hot journal: a copy within a transaction that has already written pages.
        let live = try Connection(path: try make("live.sqlite"), mode: .readWrite)
        try live.execute(
            "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; INSERT INTO t VALUES (zeroblob(100000))")
        let copy = DatabaseFiles(path: folder.file("copy.sqlite"))
        try files.copy(folder.file("live.sqlite-journal"), to: copy.journalPath)
        try files.copy(path, to: copy.path)
        #expect(try copy.inspect(files: files).hasHotJournal)
        try live.execute("ROLLBACK")
    }
}
