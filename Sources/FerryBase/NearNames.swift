/// Names that a reader may have meant by one that is not known.
package enum NearNames {
    private static let longest = 256

    /// The known names that are near to a mistyped one, the nearest first.
    ///
    /// Near is: equal but for case, or at most a third of the letters changed, added, left out or swapped with a
    /// neighbour.
    package static func near(to name: String, among candidates: some Sequence<String>) -> [String] {
        let letters = Array(name.lowercased().unicodeScalars)
        // No name of a model or of Ferry is that long, and the time is that of both lengths, multiplied.
        guard letters.count <= longest else { return [] }
        return Set(candidates)
            .map { (name: $0, distance: distance(letters, Array($0.lowercased().unicodeScalars))) }
            .filter { $0.distance <= max(1, letters.count / 3) }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .map(\.name)
    }

    /// Letters to change, add, leave out or swap with a neighbour to get from one text to the other.
    private static func distance(_ left: [UnicodeScalar], _ right: [UnicodeScalar]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for i in 0..<left.count {
            var current = [i + 1]
            for j in 0..<right.count {
                var distance = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    distance = min(distance, beforePrevious[j - 1] + 1)
                }
                current.append(distance)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
