/// A column or table name up to its numbers: a prefix, a property's name, and a suffix of digits or none.
struct ColumnPattern {
    /// Upper case; `#` stands for an entity's number.
    private let prefix: String
    private let name: String

    init(_ prefix: String, _ name: String) {
        self.prefix = prefix
        self.name = name.uppercased()
    }

    func matches(_ candidate: String) -> Bool {
        guard let rest = remainder(of: candidate) else { return false }
        return rest.allSatisfy(\.isASCIIDigit)
    }

    /// Whether a name begins with prefix and name, whatever follows.
    func startsLike(_ candidate: String) -> Bool { remainder(of: candidate) != nil }

    private func remainder(of candidate: String) -> Substring? {
        var rest = candidate.uppercased()[...]
        for part in prefix.split(separator: "#", omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 {
                let digits = rest.prefix(while: \.isASCIIDigit)
                guard !digits.isEmpty else { return nil }
                rest = rest.dropFirst(digits.count)
            }
            guard rest.hasPrefix(part.element) else { return nil }
            rest = rest.dropFirst(part.element.count)
        }
        return rest.hasPrefix(name) ? rest.dropFirst(name.count) : nil
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
