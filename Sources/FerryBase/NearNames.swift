package enum NearNames {
    private static let longest = 256

    /// Returns the candidates near to a mistyped name, the nearest first.
    ///
    /// A near name differs in case, or in at most a third of its letters (changed, added, removed, swapped).
    package static func near(to name: String, among candidates: some Sequence<String>) -> [String] {
        let letters = Array(name.lowercased().unicodeScalars)
        // No name of a model or of Ferry is that long, and the time grows with the product of both lengths.
        guard letters.count <= longest else { return [] }
        return Set(candidates)
            .map { (name: $0, distance: distance(letters, Array($0.lowercased().unicodeScalars))) }
            .filter { $0.distance <= max(1, letters.count / 3) }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .map(\.name)
    }

    /// Asks for the three nearest names, or gives another remedy if no name is near.
    package static func remedy(
        for name: String, among candidates: some Sequence<String>, otherwise remedy: String
    ) -> String {
        let near = near(to: name, among: candidates).prefix(3).joined(separator: ", ")
        return near.isEmpty ? remedy : "Did you mean \(near)?"
    }

    /// Asks for the nearest name; nil if no name is near.
    package static func question(for name: String, among candidates: some Sequence<String>) -> String? {
        near(to: name, among: candidates).first.map { "Did you mean \($0)?" }
    }

    /// Asks for the nearest name as the end of a sentence; the sentence ends with `end` if no name is near.
    package static func clause(
        for name: String, among candidates: some Sequence<String>, otherwise end: String = "."
    ) -> String {
        near(to: name, among: candidates).first.map { "; did you mean \"\($0)\"?" } ?? end
    }

    /// The number of letters to change, add, remove or swap with a neighbour to turn one text into the other.
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
