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
        var rest = candidate.uppercased()[...]
        for part in prefix.split(separator: "#", omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 {
                let digits = rest.prefix(while: \.isASCIIDigit)
                guard !digits.isEmpty else { return false }
                rest = rest.dropFirst(digits.count)
            }
            guard rest.hasPrefix(part.element) else { return false }
            rest = rest.dropFirst(part.element.count)
        }
        guard rest.hasPrefix(name) else { return false }
        return rest.dropFirst(name.count).allSatisfy(\.isASCIIDigit)
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
