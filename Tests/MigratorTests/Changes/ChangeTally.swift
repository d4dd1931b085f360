/// The numbers of made, detectable and found changes of each kind.
struct ChangeTally {
    private var counts: [RandomChange.Kind: (made: Int, told: Int, found: Int)] = [:]
    /// Detectable changes that were not found.
    private(set) var missed: [String] = []

    mutating func add(_ kind: RandomChange.Kind, _ change: String, isTold: Bool, isFound: Bool) {
        var count = counts[kind] ?? (0, 0, 0)
        count.made += 1
        if isTold { count.told += 1 }
        if isTold, isFound { count.found += 1 }
        counts[kind] = count
        if isTold, !isFound { missed.append("\(kind): \(change)") }
    }

    /// One line for each kind.
    var table: String {
        var lines = ["kind            changes  told  found"]
        var all = (made: 0, told: 0, found: 0)
        for kind in RandomChange.Kind.allCases {
            guard let count = counts[kind] else { continue }
            lines.append(line(kind.rawValue, count))
            all = (all.made + count.made, all.told + count.told, all.found + count.found)
        }
        return (lines + [line("all", all)]).joined(separator: "\n")
    }

    private func line(_ name: String, _ count: (made: Int, told: Int, found: Int)) -> String {
        let padded = { (text: String, width: Int) in String(repeating: " ", count: max(0, width - text.count)) + text }
        return name + String(repeating: " ", count: max(1, 16 - name.count)) + padded("\(count.made)", 7)
            + padded("\(count.told)", 6) + padded("\(count.found)", 7)
    }
}
