import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Changes by other programs to the files of a run, and to connections on its store.
@Suite("A swapped store")
struct SwapPlaceTests {
    private static let quick = Configuration.allowingLosses {
        $0.chunks.size = .rows(5)
        $0.snapshots.form = .none
        $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
    }

    @Test(
        "Keeps a write, after the swap, of a connection from before it", arguments: TinyStore.Form.allCases,
        [false, true])
    func keepsConnections(_ form: TinyStore.Form, hasRead: Bool) throws {
        // In WAL mode a connection that has read blocks the swap, so this connection is idle.
        let small = try SmallMigration(form: form)
        do {
            let app = try Connection(path: small.store, mode: .readWrite)
            if hasRead, form == .plain { #expect(try app.integer("SELECT count(*) FROM ZBOOK") == 12) }
            #expect(try small.migrator().migrate(.allowingLosses { $0.now = Self.quick.now }).outcome == .migrated)
            try app.execute("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZHEADING) VALUES (900, 2, 1, 'late')")
            #expect(try app.value("PRAGMA integrity_check") == .text("ok"))

        }
        // In WAL mode this connection would block the replacement of the store.
        let app = try Connection(path: small.store, mode: .readWrite)
        let report = try StoreFiles(URL(fileURLWithPath: small.store)).rollback()
        #expect(report.kept.count == 1, "the write is in a snapshot")
        try app.execute("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (901, 1, 1, 'later')")
        let other = try Connection(path: small.store, mode: .readWrite)
        #expect(try other.value("PRAGMA integrity_check") == .text("ok"))
        #expect(try other.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK = 901") == 1)
    }

    // MARK: The destination

    private enum Change: CaseIterable { case emptied, removed, rowsDeleted, oneBit, replaced }

    private func change(_ file: String, _ change: Change) throws {
        let files = FileLayer()
        switch change {
        case .emptied: try FileHandle(forWritingTo: URL(fileURLWithPath: file)).truncate(atOffset: 0)
        case .removed: try files.remove(file)
        case .rowsDeleted: try Connection(path: file, mode: .readWrite).execute("DELETE FROM ZBOOK WHERE Z_PK > 6")
        case .oneBit:
            // Hides the change as well as possible, by setting the modification date back.
            let date = try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
            var bytes = try files.read(file)
            bytes[bytes.count / 2] ^= 1
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
            try FileManager.default.setAttributes([.modificationDate: date ?? Date()], ofItemAtPath: file)
        case .replaced: try files.replace(file, with: files.read(file))
        }
    }

    @Test("Stays unchanged when its verified successor was changed before the swap", arguments: Change.allCases)
    private func knowsDestination(_ kind: Change) throws {
        let small = try SmallMigration(form: .closedLog)
        var held = Self.quick
        held.holdsSwap = true
        let first = #expect(throws: FerryError.self) { try small.migrator().migrate(held) }
        #expect(first?.code == .swapHeld)
        let before = try StoreBytes(small.store)
        try change(small.store + ".ferry/step-2/destination.sqlite", kind)
        let error = #expect(throws: FerryError.self) { try small.migrator().migrate(Self.quick) }
        #expect(error?.code == .destinationChanged && error?.code.consequence == .refused)
        #expect(try StoreBytes(small.store) == before)
        var restart = Self.quick
        restart.restart = true
        #expect(try small.migrator().migrate(restart).outcome == .migrated)
    }

    // MARK: The path

    @Test("Is not reported as migrated when another file replaces it meanwhile", arguments: [true, false])
    func knowsPath(_ isInPlace: Bool) throws {
        let (inferred, small) = try (InferredMigration(form: .closedLog), SmallMigration(form: .closedLog))
        let store = isInPlace ? inferred.store : small.store
        let other = store + ".other"
        let files = FileLayer()
        try files.copy(store, to: other)
        let bytes = try files.read(other)
        let migrator = try isInPlace ? inferred.migrator() : small.migrator()
        let error = #expect(throws: FerryError.self) {
            try migrator.migrate(Self.quick) { event in
                guard case .phase(isInPlace ? .rows : .verify, _) = event else { return }
                do { if try files.exists(other) { try files.rename(other, to: store) } } catch { Issue.record(error) }
            }
        }
        #expect(error?.code == .sourceChanged)
        #expect(try files.read(store) == bytes)
    }
}
