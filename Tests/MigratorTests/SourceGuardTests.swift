import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("The guard of a store")
struct SourceGuardTests {
    @Test("A guarded store keeps its bytes, admits readers and excludes writers", arguments: TinyStore.Form.allCases)
    func keepsWritersOut(_ form: TinyStore.Form) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old", form: form)
        let before = try StoreBytes(path)

        let guardian = try SourceGuard(path: path, purpose: .migrating, files: FileLayer())
        #expect(guardian.access == .readWrite)
        do {
            let app = try Connection(path: path, mode: .readWrite)
            #expect(try app.integer("SELECT count(*) FROM ZNOTE") == 40)
            let error = #expect(throws: DatabaseError.self) { try app.execute("DELETE FROM ZNOTE") }
            #expect(error?.isBusy == true)
        }
        let error = #expect(throws: FerryError.self) {
            try SourceGuard(path: path, purpose: .migrating, files: FileLayer())
        }
        #expect(error?.code == .storeInUse)
        try guardian.close()

        #expect(try StoreBytes(path) == before)
        #expect(try TinyStore.title(path) == (form == .filledLog ? "old late" : "old"))
    }

    @Test("Companion files that another program uses stay", arguments: [TinyStore.Form.closedLog, .filledLog])
    func leavesSideFilesInUse(_ form: TinyStore.Form) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old", form: form)
        let guardian = try SourceGuard(path: path, purpose: .migrating, files: FileLayer())
        let app = try Connection(path: path, mode: .readWrite)
        #expect(try app.integer("SELECT count(*) FROM ZNOTE") == 40)
        try guardian.close()
        #expect(try FileLayer().exists(path + "-shm"))
        try app.execute("UPDATE ZNOTE SET ZTITLE = 'app'")
        #expect(try TinyStore.title(path) == "app")
    }

    private static let otherFiles: [String: [UInt8]] = [
        "empty": [], "text": Array("Just a text, and no database at all.".utf8),
        "encrypted": (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 5) },
        "cut off": Array("SQLite format 3\0".utf8),
    ]

    @Test(
        "A file that is no database is refused and stays unchanged",
        arguments: ["empty", "text", "encrypted", "cut off"])
    func refusesOtherFiles(_ name: String) throws {
        let bytes = try #require(Self.otherFiles[name])
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try FileLayer().replace(path, with: bytes)
        let error = #expect(throws: FerryError.self) {
            try SourceGuard(path: path, purpose: .migrating, files: FileLayer())
        }
        #expect(error?.code == .notADatabase)
        #expect(error?.remedy.isEmpty == false)
        #expect(try FileLayer().read(path) == bytes)
        #expect(try FileLayer().list(folder.path).map(\.name) == ["App.sqlite"])
    }

    @Test("A missing file, a folder and a database of another kind are refused")
    func refusesOtherThings() throws {
        let folder = try TemporaryFolder()
        func code(_ path: String) -> FerryError.Code? {
            #expect(throws: FerryError.self) {
                try SourceGuard(path: path, purpose: .reading, files: FileLayer())
            }?.code
        }
        #expect(code(folder.file("none.sqlite")) == .notFound)
        #expect(code(folder.path) == .notADatabase)
        let other = try Connection(path: folder.file("other.sqlite"), mode: .create)
        try other.execute("CREATE TABLE note (title)")
        #expect(code(folder.file("other.sqlite")) == .notACoreDataStore)
    }

    @Test("A hot journal is refused before its rollback")
    func refusesHotJournal() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        do {
            // The files of a writer that has spilled into the main file, copied within the transaction.
            let writer = try Connection(path: path, mode: .readWrite)
            try writer.execute("PRAGMA cache_size = 1; BEGIN; UPDATE ZNOTE SET ZTITLE = hex(randomblob(4000))")
            let files = FileLayer()
            for suffix in ["", "-journal"] {
                try files.replace(folder.file("Hot.sqlite") + suffix, with: files.read(path + suffix))
            }
        }
        let hot = folder.file("Hot.sqlite")
        let before = try StoreBytes(hot)
        #expect(before.journal?.isEmpty == false)
        let error = #expect(throws: FerryError.self) {
            try SourceGuard(path: hot, purpose: .migrating, files: FileLayer())
        }
        #expect(error?.code == .hotJournal)
        #expect(try StoreBytes(hot) == before)
    }

    @Test("A store with a running writer is in use, and has no hot journal")
    func tellsWriterFromHotJournal() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        let writer = try Connection(path: path, mode: .readWrite)
        try writer.execute("BEGIN; UPDATE ZNOTE SET ZTITLE = 'app'")
        #expect(try FileLayer().exists(path + "-journal"))
        let error = #expect(throws: FerryError.self) {
            try SourceGuard(path: path, purpose: .migrating, files: FileLayer())
        }
        #expect(error?.code == .storeInUse)
        try writer.execute("COMMIT")
        #expect(try TinyStore.title(path) == "app")
    }

    @Test("A running writer's journal is never taken for a crash's journal")
    func knowsLiveJournal() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        let isOver = Locked(false)
        let group = DispatchGroup()
        group.enter()
        Thread.detachNewThread {
            defer { group.leave() }
            guard let app = try? Connection(path: path, mode: .readWrite) else { return }
            // A reader may block a commit.
            while !isOver.withLock({ $0 }) { do { try app.execute("UPDATE ZNOTE SET Z_OPT = Z_OPT + 1") } catch {} }
        }
        for _ in 0..<300 {
            do {
                try SourceGuard(path: path, purpose: .reading, files: FileLayer()).close()
            } catch let error as FerryError {
                #expect(error.code == .storeInUse)
            }
        }
        isOver.withLock { $0 = true }
        group.wait()
    }
}
