import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// A rollback of a damaged store, and the writes that it must not lose.
@Suite("A rollback")
struct WayBackTests {
    /// A store with one snapshot of its content "old".
    private struct Stage {
        let folder: TemporaryFolder
        var path: String { folder.file("App.sqlite") }
        var store: StoreFiles { StoreFiles(URL(fileURLWithPath: path)) }

        init(_ form: TinyStore.Form = .closedLog) throws {
            folder = try TemporaryFolder()
            try TinyStore.make(folder.file("App.sqlite"), title: "old", rows: 2_000, form: form)
            _ = try store.createSnapshot()
        }

        func write(_ title: String) throws {
            try Connection(path: path, mode: .readWrite).run("UPDATE ZNOTE SET ZTITLE = ?", [.text(title)])
        }

        /// Returns the titles in the store and in all snapshots.
        func saved() throws -> Set<String> {
            var titles: Set<String> = [try TinyStore.title(path)]
            for entry in try store.snapshots() {
                let copy = folder.file("copy.sqlite")
                for file in StoreFileNames(copy).all { try FileLayer().removeIfPresent(file) }
                _ = try store.restoreSnapshot(entry.url, to: URL(fileURLWithPath: copy))
                titles.insert(try TinyStore.title(copy))
            }
            return titles
        }
    }

    @Test(
        "Loses no write of the app in three rollbacks, each of which undoes the one before",
        arguments: TinyStore.Form.allCases)
    func undoes(_ form: TinyStore.Form) throws {
        let stage = try Stage(form)
        let first = try TinyStore.title(stage.path)
        try stage.write("one")
        #expect(try stage.store.rollback().kept.count == 1)
        #expect(try TinyStore.title(stage.path) == first)
        #expect(try stage.store.rollback().kept.isEmpty, "nothing was written since")
        #expect(try TinyStore.title(stage.path) == "one")
        try stage.write("two")
        #expect(try stage.store.rollback().kept.count == 1)
        #expect(try TinyStore.title(stage.path) != "two")
        #expect(try stage.saved().isSuperset(of: ["one", "two"]))
        #expect(try stage.store.snapshots().count == 3)
    }

    @Test("Keeps no snapshot of the replaced store with the option")
    func asked() throws {
        let stage = try Stage()
        try stage.write("one")
        #expect(try stage.store.rollback(keepsReplaced: false).kept.isEmpty)
        #expect(try stage.saved() == ["old"])
    }

    @Test("Changes nothing if the replaced store cannot be kept")
    func refusesWithoutRoom() throws {
        let stage = try Stage()
        try stage.write("one")
        let before = try StoreBytes(stage.path)
        var failed = 0
        // The disk fails at each operation of the new snapshot's files.
        let count = FaultPlan(keepsNames: true)
        let dry = try Stage()
        try dry.write("one")
        _ = try StoreFiles(URL(fileURLWithPath: dry.path), files: FileLayer(faults: count)).rollback()
        for (index, name) in count.names.enumerated() where name.contains(".snapshots/") && name.hasPrefix("write") {
            let files = FileLayer(faults: FaultPlan(trigger: index + 1))
            #expect(throws: FerryError.self) {
                try StoreFiles(URL(fileURLWithPath: stage.path), files: files).rollback()
            }
            #expect(try StoreBytes(stage.path).main == before.main, "\(name)")
            failed += 1
        }
        #expect(failed > 0)
        _ = try stage.store.rollback()
        #expect(try stage.saved().isSuperset(of: ["old", "one"]))
    }

    @Test("After any failure each committed write is in the store or in a snapshot, and the next call finishes")
    func keepsWritesThroughFaults() throws {
        func stage() throws -> Stage {
            let stage = try Stage()
            try stage.write("one")
            return stage
        }
        let count = FaultPlan()
        let dry = try stage()
        _ = try StoreFiles(URL(fileURLWithPath: dry.path), files: FileLayer(faults: count)).rollback()
        #expect(count.count > 60)
        var found: Set<String> = []
        for operation in stride(from: 1, through: count.count, by: Sweep.stride ?? max(1, count.count / 8)) {
            let stage = try stage()
            var isDone = false
            do {
                let files = FileLayer(faults: FaultPlan(trigger: operation))
                _ = try StoreFiles(URL(fileURLWithPath: stage.path), files: files).rollback()
                isDone = true
            } catch {}
            let title = try TinyStore.title(stage.path)
            #expect(title == "old" || title == "one", "operation \(operation): \(title)")
            #expect(try stage.saved().isSuperset(of: ["old", "one"]), "operation \(operation)")
            found.insert(title)
            // Another rollback would undo a finished one.
            if try !isDone || FileLayer().exists(RunFolder.path(beside: stage.path)) { _ = try stage.store.rollback() }
            #expect(try TinyStore.title(stage.path) == "old", "operation \(operation)")
            #expect(try stage.saved().isSuperset(of: ["old", "one"]), "operation \(operation)")
        }
        #expect(found == ["old", "one"])
    }

    // MARK: Damaged stores

    enum Damage: String, CaseIterable {
        case header, empty, deleted, otherDatabase, text, hotJournal, pages, deletedWithLog
    }

    private func damage(_ path: String, _ kind: Damage) throws {
        let files = FileLayer()
        switch kind {
        case .header, .pages:
            var bytes = try files.read(path)
            let range = kind == .header ? 0..<200 : 4096..<bytes.count
            for index in range { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ 7) }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        case .empty: try Data().write(to: URL(fileURLWithPath: path))
        case .text: try Data("no database".utf8).write(to: URL(fileURLWithPath: path))
        case .deleted, .deletedWithLog:
            for file in StoreFileNames(path).all { try files.removeIfPresent(file) }
            if kind == .deletedWithLog { try Data("what is left".utf8).write(to: URL(fileURLWithPath: path + "-wal")) }
        case .otherDatabase:
            for file in StoreFileNames(path).all { try files.removeIfPresent(file) }
            try Connection(path: path, mode: .create).execute("CREATE TABLE other (a); INSERT INTO other VALUES (1)")
        case .hotJournal:
            // The copy is the state after a crash within a transaction.
            let copy = path + ".crash"
            do {
                let connection = try Connection(path: path, mode: .readWrite)
                try connection.execute(
                    "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; UPDATE ZNOTE SET ZTITLE = 'torn'")
                try Data(contentsOf: URL(fileURLWithPath: path + "-journal"))
                    .write(to: URL(fileURLWithPath: copy))
                try connection.execute("COMMIT")
            }
            try files.rename(copy, to: path + "-journal")
        }
    }

    @Test("Needs no valid store, and keeps the replaced files unchanged", arguments: Damage.allCases)
    func needsNoStore(_ kind: Damage) throws {
        let stage = try Stage()
        try damage(stage.path, kind)
        let before = try StoreBytes(stage.path)
        let report = try stage.store.rollback()
        #expect(try TinyStore.title(stage.path) == "old")
        let files = FileLayer()
        let kept = try report.kept.map { try files.read($0.path) }
        #expect(kept.contains(before.main ?? []) || (before.main ?? []).isEmpty)
        if let journal = before.journal { #expect(kept.contains(journal)) }
        if let log = before.log, !log.isEmpty { #expect(kept.contains(log)) }
        #expect(try !files.exists(RunFolder.path(beside: stage.path)))
    }

    @Test(
        "After any failure a damaged store is the old one or the snapshot's",
        arguments: [Damage.header, .deleted])
    func survivesFaults(_ kind: Damage) throws {
        let count = FaultPlan()
        let dry = try Stage()
        try damage(dry.path, kind)
        _ = try StoreFiles(URL(fileURLWithPath: dry.path), files: FileLayer(faults: count)).rollback()
        for operation in stride(from: 1, through: count.count, by: 3) {
            let stage = try Stage()
            try damage(stage.path, kind)
            let before = try StoreBytes(stage.path)
            do {
                let files = FileLayer(faults: FaultPlan(trigger: operation))
                _ = try StoreFiles(URL(fileURLWithPath: stage.path), files: files).rollback()
            } catch {}
            // The old bytes are at their path, or in a copy.
            let copies = try FileLayer().list(stage.path + ".snapshots").filter {
                $0.name.hasSuffix("-replaced.sqlite")
            }
            let kept = try copies.map { try FileLayer().read(stage.path + ".snapshots/" + $0.name) }
            let now = try StoreBytes(stage.path)
            #expect(now.main == before.main || kept.contains(before.main ?? []) || kind == .deleted, "\(operation)")
            if try FileLayer().exists(RunFolder.path(beside: stage.path)) || now.main == before.main {
                _ = try stage.store.rollback()
            }
            #expect(try TinyStore.title(stage.path) == "old", "\(operation)")
        }
    }
}
