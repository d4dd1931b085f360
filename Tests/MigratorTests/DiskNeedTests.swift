import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

@Suite("A migration's use of the disk")
struct DiskNeedTests {
    /// Records the sizes of files with a common prefix.
    private final class SizeWatch: Sendable {
        private struct State {
            var sizes: [String: Int64] = [:]
            var peak: Int64 = 0
        }

        private let name: String
        private let state = Locked(State())

        init(_ name: String) { self.name = name }

        var peak: Int64 { state.withLock { $0.peak } }

        func take(_ change: DiskChange) {
            switch change {
            case .wrote(let path, let offset, let bytes):
                set(path) { max($0, offset + Int64(bytes.count)) }
            case .resized(let path, let size): set(path) { _ in size }
            case .removes(let path): set(path) { _ in 0 }
            default: break
            }
        }

        private func set(_ path: String, _ size: (Int64) -> Int64) {
            guard FileLayer.name(of: path).hasPrefix(name) else { return }
            state.withLock { state in
                state.sizes[path] = size(state.sizes[path] ?? 0)
                state.peak = max(state.peak, state.sizes.values.reduce(0, +))
            }
        }
    }

    private var configuration: Configuration {
        var configuration = Configuration.allowingLosses()
        configuration.snapshots.form = .none
        return configuration
    }

    @Test(
        "The plan's estimate for each step is at least the size of the step's scratch database",
        arguments: [false, true])
    func scratch(hasPolicy: Bool) throws {
        let small = try SmallMigration(rows: 3_000, hasPolicy: hasPolicy)
        let watch = SizeWatch("scratch.sqlite")
        let plan = try small.migrator().plan(configuration)
        let said = try #require(plan.steps.map(\.scratchBytes).max())
        let faults = FaultPlan(witness: { watch.take($0) })
        _ = try small.migrator(files: FileLayer(faults: faults)).migrate(configuration)
        #expect(watch.peak > 0 && watch.peak <= said)
        // The estimate assumes the largest rows of small tables; an estimate far above the store's size would be
        // useless.
        #expect(said < 8 << 20)
    }

    @Test("Kept keys need almost no scratch space")
    func keptKeys() throws {
        let (few, many) = (try SmallMigration(rows: 12), try SmallMigration(rows: 3_000))
        let first = try few.migrator().plan(configuration).steps.map(\.scratchBytes)
        let second = try many.migrator().plan(configuration).steps.map(\.scratchBytes)
        // The first step finds authors or creates them, the second keeps all objects.
        #expect(second[0] - first[0] > second[1] - first[1])
        #expect(second[1] < 1_500_000)
    }

    @Test("A nearly full disk is refused before the run writes, with both numbers")
    func refuses() throws {
        let small = try SmallMigration(rows: 100)
        let before = try StoreBytes(small.store)
        let plan = try small.migrator().plan(configuration)
        let need = plan.peakDiskBytes.values.reduce(0, +)
        #expect(need > plan.steps.map(\.scratchBytes).max() ?? .max)
        let full = FileLayer(faults: FaultPlan(freeBytes: need - 1))
        let error = #expect(throws: FerryError.self) { try small.migrator(files: full).migrate(configuration) }
        #expect(error?.code == .diskFull)
        #expect(
            error?.message.contains("\((need - 1).bytesInUnits) free; the migration may need") == true
                && error?.message.hasSuffix("which is 1 B more.") == true)
        #expect(error?.message.contains("may need \(need.bytesInUnits)") == true)
        #expect(
            try small.migrator(files: full).plan(configuration, checksRows: true).refusals.map(\.code) == [.diskFull])
        #expect(try StoreBytes(small.store) == before)
        #expect(try !FileLayer().exists(small.store + ".ferry"))
        let enough = FileLayer(faults: FaultPlan(freeBytes: need))
        #expect(try small.migrator(files: enough).migrate(configuration).outcome == .migrated)
    }
}
