import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

@Suite("Pruning a store's snapshots")
struct PruneTests {
    private let small: SmallMigration
    private let store: StoreFiles
    private let wayBack: URL

    /// Makes a migrated store whose log names its snapshot, and three more snapshots.
    init() throws {
        small = try SmallMigration()
        store = StoreFiles(URL(fileURLWithPath: small.store))
        wayBack = try #require(try small.migrator().migrate(.allowingLosses()).snapshot)
        for _ in 0..<3 { _ = try store.createSnapshot() }
    }

    @Test("The newest snapshots stay, and the one that the log names for the rollback")
    func keepsWayBack() throws {
        let all = try store.snapshots()
        #expect(all.map(\.sequence) == [1, 2, 3, 4] && all[0].url.path == wayBack.path)
        #expect(try store.pruneSnapshots(keep: 1, minimumAge: .seconds(7 * 86_400)).removed.isEmpty)
        let report = try store.pruneSnapshots(keep: 1, minimumAge: .zero)
        #expect(report.removed.map(\.sequence) == [3, 2] && report.kept.map(\.sequence) == [4, 1])
        #expect(try store.verifySnapshots().map(\.verified) == [true, true])
        #expect(try store.rollback(to: wayBack).reason == "it was named")
        // The log of a moved store names the same files.
        try FileLayer().rename(small.store, to: small.store + ".moved")
        #expect(try store.pruneSnapshots(keep: 1, minimumAge: .zero).kept.contains { $0.url.path == wayBack.path })
    }

    @Test("Nothing is removed while the log is unreadable, or a run is active")
    func refuses() throws {
        let log = small.store + ".ferry-log.json"
        try FileLayer().replace(log, with: [1, 2, 3])
        let error = #expect(throws: FerryError.self) { try store.pruneSnapshots(keep: 1, minimumAge: .zero) }
        #expect(error?.code.name == "badLog" && error?.code.consequence == .refused)
        try FileLayer().remove(log)
        do {
            let run = try RunFolder(path: RunFolder.path(beside: small.store), files: FileLayer())
            let error = #expect(throws: FerryError.self) { try store.pruneSnapshots(keep: 1, minimumAge: .zero) }
            #expect(error?.code == .runActive)
            try run.remove()
        }
        #expect(try store.snapshots().count == 4)
        #expect(try store.pruneSnapshots(keep: 1, minimumAge: .zero).removed.count == 3)
    }

    @Test("The snapshot of an unfinished run stays, and a damaged archive does not count for the rollback")
    func keepsUnfinished() throws {
        let files = FileLayer()
        try files.remove(small.store + ".ferry-log.json")
        _ = try store.rollback(to: wayBack)
        try files.remove(small.store + ".ferry-log.json")
        let held = #expect(throws: FerryError.self) {
            try small.migrator().migrate(.allowingLosses { $0.holdsSwap = true })
        }
        #expect(held?.code == .swapHeld)
        let taken = try #require(try store.snapshots().last)
        for _ in 0..<2 { _ = try store.createSnapshot() }
        let newest = try #require(try store.snapshots().last)
        var bytes = try files.read(newest.url.path)
        bytes[bytes.count / 2] ^= 1
        try files.replace(newest.url.path, with: bytes)
        let report = try store.pruneSnapshots(keep: 1, minimumAge: .zero)
        #expect(report.kept.map(\.url.path).contains(taken.url.path))
        #expect(try store.verifySnapshots().contains { $0.verified == true })
    }
}
