import FerryBase
import FerrySnapshot
import TestSupport
import Testing

@Suite("Retention")
struct RetentionTests {
    private static let day: Int64 = 86_400

    private static func description(created: Int64) -> SnapshotDescription {
        SnapshotDescription(
            created: created, store: "App.sqlite", version: "Model2", versionHashes: [:], rows: [:],
            tool: "ferry test", externalFolder: nil)
    }

    /// The times of the snapshots that stay, newest first.
    private func kept(_ times: [Int64], _ retention: Retention) throws -> [Int64] {
        let folder = try TemporaryFolder()
        let store = SnapshotStore(folder: folder.file("snapshots"), files: FileLayer())
        for time in times {
            _ = try store.create(from: MemorySource(count: 500), description: Self.description(created: time))
        }
        let now = (times.max() ?? 0) + 1
        let trial = try store.prune(retention, now: now, isTrial: true)
        #expect(try store.list().count == times.count, "a trial removes nothing")
        let pruned = try store.prune(retention, now: now)
        #expect(trial.removed.map(\.created) == pruned.removed.map(\.created))
        #expect(try store.list().map(\.created) == pruned.kept.map(\.created))
        return pruned.kept.map(\.created)
    }

    @Test("The newest snapshot of each of the last days stays, also where days between have none")
    func keepsDays() throws {
        let day = Self.day
        let times = [day, day + 100, 2 * day + 5, 5 * day, 5 * day + 7, 5 * day + 9]
        #expect(
            try kept(times, Retention(newest: 1, minimumAge: 0, daily: 2)) == [5 * day + 9, 2 * day + 5])
        #expect(
            try kept(times, Retention(newest: 2, minimumAge: 0, daily: 3))
                == [5 * day + 9, 5 * day + 7, 2 * day + 5, day + 100])
    }

    @Test("A week begins on Monday; days and weeks add up")
    func keepsWeeks() throws {
        // 1970 began on a Thursday: day 3 was a Sunday, day 4 a Monday.
        let times = [2, 3, 4, 9, 10, 11].map { $0 * Self.day }
        #expect(
            try kept(times, Retention(newest: 1, minimumAge: 0, weekly: 3)) == [11, 10, 3].map { $0 * Self.day })
        #expect(
            try kept(times, Retention(newest: 1, minimumAge: 0, daily: 2, weekly: 2))
                == [11, 10].map { $0 * Self.day })
    }

    @Test("Times before 1970 have days, too, and the newest stays without any rule")
    func keepsEarly() throws {
        let day = Self.day
        #expect(try kept([-2 * day, -day - 1, -1], Retention(newest: 0, minimumAge: 0, daily: 2)) == [-1, -day - 1])
        #expect(try kept([-1, 5, 9], Retention(newest: 0, minimumAge: 0)) == [9])
    }
}
