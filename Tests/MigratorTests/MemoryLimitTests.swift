import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// The memory limit that Ferry sets in SQLite.
@Suite("The memory limit")
struct MemoryLimitTests {
    @Test(
        "The caches of all connections of a phase and one sorter are no more than the share", arguments: [24, 32, 64])
    func sharesCaches(_ mebibytes: Int) throws {
        let small = try SmallMigration()
        let budget = MemoryBudget(limit: mebibytes << 20)
        let settings = Locked<[(schema: String, kibibytes: Int)]>([])
        var configuration = Configuration.allowingLosses {
            $0.limits.memory = budget.limit
            $0.snapshots.form = .archive
        }
        // Walkers divide one share, for any number of walkers.
        configuration.limits.processors = 1
        configuration.trace = { event in
            guard event.text.contains("cache_size = -") else { return }
            let parts = event.text.split(separator: "\"")
            let size = event.text.split(separator: "-").last.flatMap { Int($0) }
            settings.withLock { $0.append((String(parts.count > 1 ? parts[1] : "?"), size ?? .max)) }
        }
        _ = try small.migrator().migrate(configuration)
        // Each connection begins with its main database; the first is the guard, which stays open.
        var connections: [Int] = []
        for (schema, size) in settings.withLock({ $0 }) {
            if schema == "main" { connections.append(0) }
            let isGuard = connections.count == 1
            connections[connections.count - 1] += schema == "main" && !isGuard ? 2 * size : size
        }
        #expect(connections.count >= 9, "a guard, then rows and verification of two steps, this with a walker each")
        // The connection that waits for a verification's walkers has a part of the share meanwhile, or as much as a
        // walker if it works itself.
        var (beside, whole) = (0, 0)
        let least = budget.databases / 20 * 19
        for connection in connections.dropFirst() {
            let alone = (connections[0] + connection) << 10
            #expect(alone <= budget.databases)
            if alone > least || (least..<budget.databases + 1).contains(alone + beside << 10) {
                (beside, whole) = (0, whole + 1)
            } else {
                beside = connection
            }
        }
        #expect(beside == 0, "the last connections use the whole share")
        #expect(whole >= 6, "rows, and walkers and the end of the verification, of two steps use the whole share")
    }

    @Test("A limit that is too low is refused before the run writes")
    func refusesTooLittle() throws {
        let small = try SmallMigration()
        let before = try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted()
        let error = #expect(throws: FerryError.self) {
            try small.migrator().migrate(.allowingLosses { $0.limits.memory = 1 << 20 })
        }
        #expect(error?.code == .usage)
        #expect(try FileManager.default.contentsOfDirectory(atPath: small.folder.path).sorted() == before)
    }
}
