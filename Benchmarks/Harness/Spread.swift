/// The median of some values and their range.
package struct Spread: Sendable, Hashable, Codable {
    package var median: Double
    package var lowest: Double
    package var highest: Double

    /// Nil without values.
    package init?(_ values: [Double]) {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        lowest = sorted[0]
        highest = sorted[sorted.count - 1]
    }
}
