internal import FerryStore

/// Which indexes stay through a migration in place.
struct IndexMoves {
    /// The indexes of the new version by upper-case name.
    private let wanted: [String: IndexDefinition]
    /// Their statements without their names, in upper case; only an index without successor asks for them.
    private lazy var nameless: [(index: IndexDefinition, tokens: [String])] = wanted.values.map {
        ($0, Self.withoutName(Self.tokens(of: $0.sql).map { $0.uppercased() }))
    }

    init(wanted: [IndexDefinition]) {
        self.wanted = Dictionary(
            wanted.map { ($0.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The index of the new version that an index becomes when its table is altered; nil when it must go.
    ///
    /// - Parameters:
    ///   - index: An index that the store has.
    ///   - names: What the table and its renamed columns are called afterwards.
    ///   - written: Columns whose values change: their indexes are made anew, which is quicker than following.
    /// - Returns: The definition in the new version.
    func successor(
        of index: IndexDefinition, names: [String: String], written: Set<String>
    ) -> IndexDefinition? {
        guard let successor = wanted[index.name.uppercased()] else { return nil }
        // Mostly nothing changes, and taking statements apart takes long.
        let isSame = index.sql == successor.sql && names.allSatisfy { $0.key == $0.value }
        if isSame, written.isEmpty { return successor }
        let tokens = Self.tokens(of: successor.sql)
        let renamed = isSame ? [] : Self.tokens(of: index.sql).map { (names[$0] ?? $0).uppercased() }
        guard isSame || renamed == tokens.map({ $0.uppercased() }), written.isDisjoint(with: tokens) else {
            return nil
        }
        return successor
    }

    /// The index of the new version that is the same one but for its name; SQLite has no statement that renames it.
    mutating func namesake(
        of index: IndexDefinition, names: [String: String], written: Set<String>
    ) -> IndexDefinition? {
        let renamed = Self.withoutName(Self.tokens(of: index.sql).map { (names[$0] ?? $0).uppercased() })
        let found = nameless.filter { $0.tokens == renamed }
        guard found.count == 1, written.isDisjoint(with: Self.tokens(of: found[0].index.sql)) else { return nil }
        return found[0].index
    }

    /// What stands before the name and what stands after it.
    private static func withoutName(_ upper: [String]) -> [String] {
        guard let place = upper.firstIndex(of: "INDEX"), place + 1 < upper.count else { return upper }
        return Array(upper[...place]) + upper[(place + 2)...]
    }

    /// Words without their quotes, and every other character that is no blank.
    private static func tokens(of sql: String) -> [String] {
        var tokens: [String] = []
        var word = ""
        func isWordPart(_ character: Character) -> Bool {
            // Asking Unicode's tables takes long, and names are rarely anything else than ASCII.
            switch character {
            case "a"..."z", "A"..."Z", "0"..."9", "_": true
            case _ where character.isASCII: false
            default: character.isLetter || character.isNumber
            }
        }
        for character in sql {
            if isWordPart(character) {
                word.append(character)
                continue
            }
            if !word.isEmpty { tokens.append(word) }
            word = ""
            if !character.isWhitespace, character != "\"" { tokens.append(String(character)) }
        }
        if !word.isEmpty { tokens.append(word) }
        return tokens
    }
}
