import FerryBase
import FerrySQLite
import FerrySnapshot
import Foundation
import TestSupport
import Testing

/// Snapshots that are copy-on-write clones, on a volume that has them or, by copies of the bytes, on any.
@Suite("Cloned snapshots")
struct ClonedSnapshotTests {
    private let folder: TemporaryFolder
    private let files = FileLayer(faults: FaultPlan(copiesClones: true))
    private let path: String
    private let store: SnapshotStore

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("App.sqlite")
        store = SnapshotStore(folder: folder.file("App.sqlite.snapshots"), files: files)
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        try connection.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t SELECT i, 'text of row ' || i FROM n
            """)
    }

    private func cloned(_ files: FileLayer? = nil) throws -> Snapshot {
        let files = files ?? self.files
        return try SnapshotStore(folder: store.folder, files: files).clone(
            ClonedFile(path, files: files),
            description: SnapshotDescription(
                created: 1_795_169_700, store: "App.sqlite", version: "Model2", rows: ["T": 2_000], tool: "ferry test",
                externalFolder: folder.file(".App_SUPPORT")))
    }

    private func restored(_ snapshot: Snapshot) throws -> String {
        let back = folder.file("back.sqlite")
        try files.removeIfPresent(back)
        try store.restore(snapshot, to: back, externalFolder: folder.file(".back_SUPPORT"))
        return try DatabaseDump.text(back)
    }

    @Test("A clone is listed, verified and restored as the store was, with its -wal and its external files")
    func roundTrip() throws {
        let expected = try DatabaseDump.text(path)
        // The writer stays open, so that its last rows are in the -wal alone.
        let writer = try Connection(path: path, mode: .readWrite)
        try writer.execute("PRAGMA wal_autocheckpoint = 0; DELETE FROM t WHERE a = 7")
        let later = try DatabaseDump.text(path)
        #expect(later != expected)
        try FileManager.default.createDirectory(
            atPath: folder.file(".App_SUPPORT/_EXTERNAL_DATA"), withIntermediateDirectories: true)
        try Data("external".utf8).write(to: URL(fileURLWithPath: folder.file(".App_SUPPORT/_EXTERNAL_DATA/A")))
        let snapshot = try cloned()
        #expect(snapshot.form == .clone && snapshot.problem == nil && snapshot.hasExternalData)
        #expect(try store.list().map(\.name) == [snapshot.name])
        #expect(
            try files.list(store.folder).map(\.name).sorted() == [
                "\(snapshot.name).json", "\(snapshot.name).sqlite", "\(snapshot.name)_SUPPORT",
            ])
        try store.verify(snapshot)
        try store.lookAgain(at: snapshot.archivePath)
        #expect(try restored(snapshot) == later)
        #expect(try files.read(folder.file(".back_SUPPORT/_EXTERNAL_DATA/A")) == Array("external".utf8))
        withExtendedLifetime(writer) {}
    }

    @Test("A volume without copy-on-write files refuses, and nothing is left")
    func refuses() throws {
        let error = #expect(throws: FerryError.self) {
            try cloned(FileLayer(faults: FaultPlan(hasLinks: false)))
        }
        #expect(error?.code == .unsupported)
        #expect(try files.list(store.folder).isEmpty)
    }

    @Test(
        "A clone that was written to is damaged, and so is one with a page that SQLite cannot read",
        arguments: [0, 4_096])
    func damage(offset: Int) throws {
        let snapshot = try cloned()
        let modified = try files.attributes(snapshot.archivePath).modified
        var bytes = try files.read(snapshot.archivePath)
        for place in offset..<offset + 300 { bytes[place] = 0xa5 }
        try Data(bytes).write(to: URL(fileURLWithPath: snapshot.archivePath))
        #expect(try store.list().first?.problem?.code == .snapshotDamaged)
        #expect(throws: FerryError.self) { try store.lookAgain(at: snapshot.archivePath) }
        #expect(throws: FerryError.self) { try restored(snapshot) }
        // The time alone shows nothing of a rotten disk.
        var times = [
            timespec(tv_sec: Int(modified / 1_000_000_000), tv_nsec: Int(modified % 1_000_000_000)),
            timespec(tv_sec: Int(modified / 1_000_000_000), tv_nsec: Int(modified % 1_000_000_000)),
        ]
        #expect(utimensat(AT_FDCWD, snapshot.archivePath, &times, 0) == 0)
        #expect(try store.list().first?.problem == nil)
        #expect(try store.problem(of: snapshot)?.code == .snapshotDamaged)
    }

    @Test("A failure at any operation leaves no snapshot or a whole one, and the next call leaves nothing else")
    func faults() throws {
        let writer = try Connection(path: path, mode: .readWrite)
        try writer.execute("PRAGMA wal_autocheckpoint = 0; DELETE FROM t WHERE a = 7")
        let expected = try DatabaseDump.text(path)
        let count = FaultPlan(copiesClones: true)
        let whole = try cloned(FileLayer(faults: count))
        try FileManager.default.removeItem(atPath: store.folder)
        #expect(count.count > 10)
        for operation in 1...count.count {
            do {
                _ = try cloned(FileLayer(faults: FaultPlan(trigger: operation, copiesClones: true)))
            } catch {}
            for snapshot in try store.list() { #expect(try restored(snapshot) == expected, "operation \(operation)") }
            let snapshot = try cloned()
            #expect(try restored(snapshot) == expected, "operation \(operation)")
            let names = try store.list().flatMap { ["\($0.name).json", "\($0.name).sqlite"] }
            #expect(try Set(files.list(store.folder).map(\.name)) == Set(names), "operation \(operation)")
            try FileManager.default.removeItem(atPath: store.folder)
        }
        #expect(whole.form == .clone)
        withExtendedLifetime(writer) {}
    }
}
