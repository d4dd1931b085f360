import FerryBase
import FerryModel
import FerryPlan
import FerryStore
import RandomModels
import TestSupport
import Testing

@Suite("Random chains of lightweight changes")
struct RandomChainTests {
    /// A few seeds in every run; many with `FERRY_SWEEP=1`.
    static let seeds: Range<UInt64> = Sweep.isFull ? 0..<400 : 0..<16

    private static func models(_ seed: UInt64) -> [ManagedObjectModel] {
        var versions = RandomVersions(seed: seed)
        return versions.inferableModels(3 + Int(seed % 5))
    }

    @Test("give the same result in one pass and step by step", arguments: seeds)
    func equal(seed: UInt64) throws {
        let models = Self.models(seed)
        guard models.allSatisfy({ StoreLayout.refusals(for: $0).isEmpty }) else { return }
        try ComposedChain(models, rows: 12, seed: seed).compare(passes: nil)
    }

    @Test("are composed into one pass in most cases")
    func composed() throws {
        var (steps, passes) = (0, 0)
        for seed in Self.seeds {
            let models = Self.models(seed)
            guard models.allSatisfy({ StoreLayout.refusals(for: $0).isEmpty }) else { continue }
            steps += models.count - 1
            passes += try ComposedChain(models, rows: 0, seed: seed).plan().steps.count
        }
        #expect(Double(passes) < 0.6 * Double(steps))
    }
}
