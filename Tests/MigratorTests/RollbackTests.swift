import Ferry
import FerryBase
import FerrySQLite
import FerrySnapshot
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("The rollback")
struct RollbackTests {
    private static let oldFile = "11111111-0000-4000-8000-000000000001"
    private static let newFile = "22222222-0000-4000-8000-000000000002"

    /// A store with a snapshot of its old content, and with new content.
    private struct Stage {
        let folder: TemporaryFolder
        let original: StoreBytes
        var path: String { folder.file("App.sqlite") }
        var external: String { ExternalData.folder(forStore: path) }

        init(_ form: TinyStore.Form) throws {
            folder = try TemporaryFolder()
            let path = folder.file("App.sqlite")
            try TinyStore.make(path, title: "old", form: form, external: [RollbackTests.oldFile])
            original = try StoreBytes(path)
            let files = FileLayer()
            let external = ExternalData.folder(forStore: path)
            try files.createDirectory(external)
            try files.replace(external + "/" + RollbackTests.oldFile, with: [1, 2, 3])
            _ = try StoreFiles(URL(fileURLWithPath: path)).createSnapshot()
            #expect(try StoreBytes(path) == original)

            for file in StoreFileNames(path).all { try files.removeIfPresent(file) }
            try TinyStore.make(path, title: "new", form: form, external: [RollbackTests.newFile])
            try files.replace(external + "/" + RollbackTests.newFile, with: [4, 5, 6])
            try files.removeIfPresent(external + "/" + RollbackTests.oldFile)
        }

        func rollback(faults: FaultPlan? = nil, stop: StopRequest = StopRequest()) throws -> RollbackReport {
            try StoreFiles(URL(fileURLWithPath: path), files: FileLayer(faults: faults)).rollback(stop: stop)
        }

        func checkDone(_ form: TinyStore.Form, _ when: String = "") throws {
            let files = FileLayer()
            let bytes = try StoreBytes(path)
            // A client that read in between may have left an empty -wal.
            #expect(bytes.log?.isEmpty ?? true)
            #expect(bytes.journal == nil)
            // A filled log is now in the main file; other forms are the original, byte for byte.
            if form != .filledLog { #expect(bytes.content == original.content) }
            #expect(try TinyStore.title(path) == (form == .filledLog ? "old late" : "old"), "\(when)")
            #expect(try files.list(external).map(\.name) == [RollbackTests.oldFile])
            #expect(try files.read(external + "/" + RollbackTests.oldFile) == [1, 2, 3])
            #expect(try !files.exists(RunFolder.path(beside: path)))
        }
    }

    @Test("Of a folder that stores share, each is rolled back to its own snapshot, and prunes only its own")
    func sharesFolder() throws {
        let folder = try TemporaryFolder()
        let files = FileLayer()
        let shared = URL(fileURLWithPath: folder.file("Snapshots"))
        let paths = try ["alice", "bob"].map { name in
            try files.createDirectory(folder.file(name))
            let path = folder.file(name + "/App.sqlite")
            try TinyStore.make(path, title: name)
            _ = try StoreFiles(URL(fileURLWithPath: path)).createSnapshot(in: shared)
            try files.remove(path)
            try TinyStore.make(path, title: "new")
            return path
        }
        let stores = paths.map { StoreFiles(URL(fileURLWithPath: $0)) }
        let counts = try stores.map { try $0.snapshots(in: shared).map(\.sequence) }
        #expect(counts == [[1], [2]])
        // Two made at one time have names of their own.
        let marks = try stores.map { try $0.snapshots(in: shared)[0].url.lastPathComponent.split(separator: "-").last }
        #expect(marks[0] != marks[1])

        let pruned = try stores[1].pruneSnapshots(in: shared, keep: 0, minimumAge: .zero)
        #expect(pruned.removed.isEmpty && pruned.kept.map(\.sequence) == [2])
        for (store, path) in zip(stores, paths) {
            _ = try store.rollback(folder: shared, keepsReplaced: false)
            #expect(try TinyStore.title(path) == FileLayer.name(of: FileLayer.parent(of: path)))
        }
        // Moved together, they still belong to each other.
        try files.rename(folder.path, to: folder.path + "-moved")
        defer { try? files.removeTree(folder.path + "-moved") }
        let moved = StoreFiles(URL(fileURLWithPath: folder.path + "-moved/bob/App.sqlite"))
        let found = try moved.snapshots(in: URL(fileURLWithPath: folder.path + "-moved/Snapshots"))
        #expect(found.map(\.sequence) == [2])
        // A missing store has its snapshots, too.
        try files.remove(folder.path + "-moved/bob/App.sqlite")
        #expect(try moved.snapshots(in: URL(fileURLWithPath: folder.path + "-moved/Snapshots")).count == 1)
        let other = StoreFiles(URL(fileURLWithPath: folder.path + "-moved/App.sqlite"))
        let refusal = #expect(throws: FerryError.self) {
            try other.rollback(folder: URL(fileURLWithPath: folder.path + "-moved/Snapshots"))
        }
        #expect(refusal?.code == .noSnapshot && refusal?.remedy.description.contains("name the one") == true)
    }

    @Test("A rollback restores the snapshot's content, external files included", arguments: TinyStore.Form.allCases)
    func rollsBack(_ form: TinyStore.Form) throws {
        let stage = try Stage(form)
        let report = try stage.rollback()
        #expect(report.snapshot.path.hasSuffix(SnapshotForm.preferred.ending))
        try stage.checkDone(form)
    }

    @Test(
        "A failure at any operation leaves the old or the new store, whole, and the rollback can be repeated",
        arguments: [TinyStore.Form.plain, .filledLog])
    func survivesFaults(_ form: TinyStore.Form) throws {
        let count = FaultPlan()
        _ = try Stage(form).rollback(faults: count)
        #expect(count.count > 60)
        var seen: Set<String> = []
        // Every third operation, from different starts for the two forms; another test tries each operation of the
        // swap.
        for operation in stride(from: form == .plain ? 1 : 2, through: count.count, by: 3) {
            let stage = try Stage(form)
            var isDone = false
            do {
                // The rollback succeeds with a warning if only the clean-up failed.
                let report = try stage.rollback(faults: FaultPlan(trigger: operation))
                isDone = true
                #expect(!report.warnings.isEmpty, "operation \(operation)")
            } catch {}
            let title = try TinyStore.title(stage.path).replacingOccurrences(of: " late", with: "")
            #expect(title == "old" || title == "new", "operation \(operation)")
            let file = title == "new" ? Self.newFile : Self.oldFile
            #expect(try FileLayer().exists(stage.external + "/" + file), "operation \(operation)")
            seen.insert(title)
            // Another rollback would undo a finished one.
            if try !isDone || FileLayer().exists(RunFolder.path(beside: stage.path)) { _ = try stage.rollback() }
            try stage.checkDone(form, "operation \(operation)")
        }
        #expect(seen == ["old", "new"])
    }

    @Test("A damaged snapshot is refused and the store stays", arguments: [SnapshotForm.preferred.ending, ".json"])
    func refusesDamage(_ ending: String) throws {
        let stage = try Stage(.plain)
        let before = try StoreBytes(stage.path)
        let files = FileLayer()
        let snapshots = stage.path + ".snapshots"
        let name = try #require(try files.list(snapshots).first { $0.name.hasSuffix(ending) }?.name)
        var bytes = try files.read(snapshots + "/" + name)
        bytes[bytes.count / 2] ^= 1
        try files.replace(snapshots + "/" + name, with: bytes)

        let store = StoreFiles(URL(fileURLWithPath: stage.path))
        let error = #expect(throws: FerryError.self) { try store.rollback() }
        #expect(error?.code == .badSnapshot)
        #expect(error?.code.consequence == .refused)
        #expect(try StoreBytes(stage.path) == before)
        #expect(try !files.exists(RunFolder.path(beside: stage.path)))
        #expect(try store.verifySnapshots().map(\.verified) == [false])
    }

    @Test("A rollback uses the last snapshot, independent of the clock, and gives the reason")
    func takesNewest() throws {
        let stage = try Stage(.plain)
        let store = StoreFiles(URL(fileURLWithPath: stage.path))
        let first = try #require(try store.snapshots().first?.url)
        // The clock was a year ahead.
        let manifest = first.path.replacing(SnapshotForm.preferred.ending, with: ".json")
        let files = FileLayer()
        var lines = try String(decoding: files.read(manifest), as: UTF8.self).split(separator: "\n").map(String.init)
        let created = try #require(lines[0].firstMatch(of: /"createdSeconds":(\d+)/)?.1)
        let later = (try #require(Int64(created))) + 365 * 86_400
        lines[0] = lines[0].replacing("\"createdSeconds\":\(created)", with: "\"createdSeconds\":\(later)")
        let head = lines.dropLast().joined(separator: "\n") + "\n"
        try files.replace(
            manifest, with: Array((head + "\"sha256\":\"\(SHA256.hash(Array(head.utf8)).hexadecimal)\"}\n").utf8))
        let second = try store.createSnapshot()
        #expect(try store.snapshots().map(\.sequence) == [1, 2])
        let report = try stage.rollback()
        #expect(report.snapshot.path == second.url.path && report.sequence == 2)
        #expect(report.reason == "it is the newest of 2 snapshots")
        #expect(try TinyStore.title(stage.path) == "new")
        // A snapshot without readable manifest is skipped, and named.
        try files.replace(manifest, with: [1])
        // The other snapshot holds the store that the first rollback replaced.
        #expect(
            try stage.rollback().reason?.hasPrefix("it is the newest of 2 snapshots; the manifest of 2") == true)
    }

    @Test("Without a snapshot a rollback is refused")
    func refusesWithoutSnapshot() throws {
        let folder = try TemporaryFolder()
        try TinyStore.make(folder.file("App.sqlite"), title: "old")
        let store = StoreFiles(URL(fileURLWithPath: folder.file("App.sqlite")))
        let error = #expect(throws: FerryError.self) { try store.rollback() }
        #expect(error?.code == .noSnapshot)
        #expect(try FileLayer().list(folder.path).map(\.name) == ["App.sqlite"])
    }

    @Test("A snapshot can be restored beside the store, but over no file")
    func restores() throws {
        let stage = try Stage(.closedLog)
        let store = StoreFiles(URL(fileURLWithPath: stage.path))
        let output = stage.folder.file("Back.sqlite")
        let entry = try store.restoreSnapshot(to: URL(fileURLWithPath: output))
        #expect(entry.verified == true)
        #expect(try FileLayer().read(output) == stage.original.main)
        let error = #expect(throws: FerryError.self) {
            try store.restoreSnapshot(to: URL(fileURLWithPath: output))
        }
        #expect(error?.code == .outputExists)
        #expect(try TinyStore.title(stage.path) == "new")
    }
}
