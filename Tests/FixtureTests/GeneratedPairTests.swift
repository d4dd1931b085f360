import FerryBase
import FerryModel
import Foundation
import TestSupport
import Testing

/// Neighbouring versions of every real model, with generated stores of the older one.
///
/// With `FERRY_SWEEP=1` all of them; else every twentieth.
@Suite("Generated stores of real models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct GeneratedPairTests {
    private static let bundles = Fixtures.items.filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".momd") }

    /// The bundle whose versions are in a form that Ferry cannot read.
    private static let unreadable = "magicalrecord-recipes/Recipes.xcdatamodeld"

    @Test("Every inferable pair of neighbours is migrated in place and copied, verified, with equal rows")
    func pairs() throws {
        var place = 0
        var counts: [GeneratedPair.Outcome: Int] = [:]
        for bundle in Self.bundles where bundle != Self.unreadable {
            let versions = try ModelCatalog(paths: [Fixtures.path(bundle)]).versions
            for (source, destination) in zip(versions, versions.dropFirst()) {
                place += 1
                guard Sweep.isFull || place % 20 == 10 else { continue }
                do {
                    counts[try GeneratedPair(source, destination).run(), default: 0] += 1
                } catch {
                    Issue.record("\(bundle): \(source.name) to \(destination.name): \(error)")
                }
            }
        }
        // Of the pairs without a chain five cannot be inferred, and two have no entity in common.
        #expect(
            counts == (Sweep.isFull ? [.verified: 278, .same: 10, .unreachable: 7] : [.verified: 13, .same: 2]))
    }
}
