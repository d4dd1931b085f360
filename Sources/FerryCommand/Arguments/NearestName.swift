/// Finds the name that a misspelt word most probably means.
struct NearestName {
    private let names: [String]

    init(among names: [String]) { self.names = names }

    /// The nearest name within a third of the word's length, at least two letters; nil when none is that near.
    func nearest(to word: String) -> String? {
        let limit = max(2, word.count / 3)
        return names.map { (name: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?.name
    }

    /// Insertions, deletions and replacements of letters from one word to the other.
    private func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
