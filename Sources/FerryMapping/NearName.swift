/// The candidate that a mistyped name most likely meant, or nil when none is near.
///
/// Near is: equal but for case, or at most a third of the letters changed, added, left out or swapped.
func nearName(to name: String, among candidates: some Sequence<String>) -> String? {
    let letters = Array(name.lowercased().unicodeScalars)
    var best: (name: String, distance: Int)?
    for candidate in candidates.sorted() {
        let distance = editDistance(letters, Array(candidate.lowercased().unicodeScalars))
        guard distance <= max(1, letters.count / 3), distance < best?.distance ?? .max else { continue }
        best = (candidate, distance)
    }
    return best?.name
}

/// A clause for a message about an unknown name: what was meant, or nothing.
func nearNameHint(_ name: String, among candidates: some Sequence<String>) -> String {
    nearName(to: name, among: candidates).map { "; did you mean \"\($0)\"?" } ?? ""
}

/// Letters to change, add, leave out or swap with a neighbour to get from one text to the other.
private func editDistance(_ left: [UnicodeScalar], _ right: [UnicodeScalar]) -> Int {
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
