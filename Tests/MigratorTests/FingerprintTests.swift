import Ferry
import FerryBase
import FerrySQLite
import TestSupport
import Testing

@Suite("The fingerprint of a store")
struct FingerprintTests {
    private func fingerprint(_ path: String) throws -> Fingerprint {
        let guardian = try SourceGuard(path: path, purpose: .reading, files: FileLayer())
        let fingerprint = try guardian.fingerprint()
        try guardian.close()
        return fingerprint
    }

    @Test("Reading does not change it; a commit does", arguments: TinyStore.Form.allCases)
    func noticesCommits(_ form: TinyStore.Form) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old", form: form)
        let before = try fingerprint(path)
        #expect(try before.compare(with: fingerprint(path)) == .same)

        let app = try Connection(path: path, mode: .readWrite)
        try app.execute("UPDATE ZNOTE SET ZTITLE = 'app' WHERE Z_PK = 7")
        guard case .storeChanged = try before.compare(with: fingerprint(path)) else {
            Issue.record("The commit was not noticed.")
            return
        }
    }

    @Test("A checkpoint that keeps the log changes no content")
    func seesThroughCheckpoints() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old", form: .filledLog)
        let before = try fingerprint(path)
        let app = try Connection(path: path, mode: .readWrite)
        app.keepWriteAheadLogOnClose()
        try app.execute("PRAGMA wal_checkpoint(PASSIVE)")
        let after = try fingerprint(path)
        #expect(before.store.modified != after.store.modified)
        #expect(before.compare(with: after) == .same)
    }

    @Test("A changed model or mapping model differs from a changed store")
    func noticesInputs() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        var before = try fingerprint(path)
        before.inputs = ["/a": "1", "/b": "2"]
        var after = before
        after.inputs["/b"] = "3"
        #expect(before.compare(with: after) == .inputChanged("/b"))
        after.inputs["/b"] = nil
        #expect(before.compare(with: after) == .inputChanged("/b"))
        after.inputs = ["/a": "1", "/b": "2", "/c": "2"]
        #expect(before.compare(with: after) == .inputChanged("/c"))
    }

    @Test("Models and mapping models in another folder count as equal, unless their content changed")
    func movedInputs() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        var before = try fingerprint(path)
        before.inputs = ["/1/a": "1", "/1/b": "2", "/1/c": "2"]
        var after = before
        after.inputs = ["/2/a": "1", "/2/b": "2", "/2/c": "2"]
        #expect(before.compare(with: after) == .same)
        after.inputs["/2/c"] = "1"
        #expect(before.compare(with: after) != .same)
        after.inputs = ["/2/a": "1", "/2/b": "2", "/2/c": "3"]
        #expect(before.compare(with: after) == .inputChanged("/1/b"))
    }
}
