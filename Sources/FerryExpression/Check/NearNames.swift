/// Names that a reader may have meant.
enum NearNames {
    /// A sentence that offers names near to one that was not found, or lists them all when they are few.
    static func remedy(for name: String, among candidates: [String], _ prefix: String = "") -> String {
        let known = Set(candidates).sorted()
        let near = known.filter { distance(name.lowercased(), $0.lowercased()) <= max(2, name.count / 3) }
        func list(_ names: [String]) -> String { names.map { prefix + $0 }.joined(separator: ", ") }
        if !near.isEmpty { return "Did you mean \(list(near))?" }
        if known.isEmpty { return "There are none." }
        let shown = Array(known.prefix(20))
        return "There are \(list(shown))\(known.count > shown.count ? " and others" : "")."
    }

    /// How many characters must be put in, left out or changed.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (left, right) = (Array(first), Array(second))
        var row = Array(0...right.count)
        for (line, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in right.indices {
                let changed = diagonal + (character == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
