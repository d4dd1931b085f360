import FerryBase
import FerryEngine
import FerrySQLite
import TestSupport
import Testing

@Suite("A commit of two databases")
struct AtomicCommitTests {
    @Test(
        "A setting with which SQLite writes no super-journal is refused", arguments: ["main", "scratch"],
        ["synchronous = OFF", "journal_mode = MEMORY", "journal_mode = WAL", "synchronous = NORMAL"])
    func isRefused(_ schema: String, _ setting: String) throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("destination.sqlite"), mode: .create)
        try connection.attach(path: folder.file("scratch.sqlite"), as: "scratch")
        for schema in ["main", "scratch"] {
            try connection.execute("PRAGMA \(schema).journal_mode = TRUNCATE; PRAGMA \(schema).synchronous = FULL")
        }
        try AtomicCommit.require(of: ["main", "scratch"], on: connection)
        try connection.execute("PRAGMA \(schema).\(setting)")
        guard setting != "synchronous = NORMAL" else {
            return try AtomicCommit.require(of: ["main", "scratch"], on: connection)
        }
        let error = #expect(throws: FerryError.self) {
            try AtomicCommit.require(of: ["main", "scratch"], on: connection)
        }
        #expect(error?.message.contains("the \(schema) database") == true)
    }
}
