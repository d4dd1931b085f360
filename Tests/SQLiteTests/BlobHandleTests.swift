import FerrySQLite
import TestSupport
import Testing

@Suite("Values in pieces")
struct BlobHandleTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, b BLOB, n INTEGER)")
        try connection.execute("INSERT INTO t VALUES (1, zeroblob(5), 1), (2, 'text', 2), (3, NULL, 3)")
    }

    @Test("A BLOB is written and read in pieces, and keeps its size")
    func pieces() throws {
        do {
            let handle = try BlobHandle("b", of: "t", row: 1, schema: "main", writable: true, on: connection)
            #expect(handle.count == 5)
            try ([7, 8] as [UInt8]).withUnsafeBytes { try handle.write($0, at: 3) }
            #expect(throws: DatabaseError.self) {
                try ([7, 8] as [UInt8]).withUnsafeBytes { try handle.write($0, at: 4) }
            }
        }
        #expect(try connection.value("SELECT b FROM t WHERE k = 1") == .blob([0, 0, 0, 7, 8]))
        let text = try BlobHandle("b", of: "t", row: 2, schema: "main", on: connection)
        var bytes = [UInt8](repeating: 0, count: 2)
        try bytes.withUnsafeMutableBytes { try text.read(into: $0, at: 1) }
        #expect(text.count == 4 && bytes == Array("ex".utf8))
    }

    @Test("A number, a NULL and a missing row have no pieces", arguments: [("n", 1), ("b", 3), ("b", 9)])
    func noPieces(column: String, row: Int64) {
        #expect(throws: DatabaseError.self) {
            _ = try BlobHandle(column, of: "t", row: row, schema: "main", on: connection)
        }
    }

    @Test("Zeros are bound without memory for them")
    func zeros() throws {
        let statement = try connection.prepare("INSERT INTO t VALUES (4, ?, 0)")
        try statement.bind(zeros: 3, at: 1)
        try statement.run()
        #expect(try connection.value("SELECT b FROM t WHERE k = 4") == .blob([0, 0, 0]))
    }

    @Test("A limit holds inside the body only, and written bytes are counted")
    func limits() throws {
        let before = connection.limit(.length)
        #expect(throws: DatabaseError.self) {
            try connection.with(.length, 10) { try connection.run("SELECT zeroblob(11)") }
        }
        #expect(connection.limit(.length) == before)
        let folder = try TemporaryFolder()
        let file = try Connection(path: folder.file("a.sqlite"), mode: .create)
        try file.execute("CREATE TABLE t (b)")
        let written = file.pagesWritten
        try file.execute("INSERT INTO t VALUES (zeroblob(40960))")
        #expect((10...14).contains(file.pagesWritten - written))
    }
}
