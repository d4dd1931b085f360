import BenchmarkHarness
import Testing

@Suite("Spread")
struct SpreadTests {
    @Test(
        "The median is the middle value, or the mean of the middle two",
        arguments: [
            ([3.0], 3.0, 3.0, 3.0), ([5, 1, 3], 3, 1, 5), ([4, 1, 3, 2], 2.5, 1, 4),
        ])
    func median(_ values: [Double], _ median: Double, _ lowest: Double, _ highest: Double) throws {
        let spread = try #require(Spread(values))
        #expect(spread.median == median)
        #expect(spread.lowest == lowest)
        #expect(spread.highest == highest)
    }

    @Test("No values have no spread")
    func empty() { #expect(Spread([]) == nil) }
}
