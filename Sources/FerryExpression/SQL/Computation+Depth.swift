extension Computation {
    /// Of the 100 symbols that SQLite's parser has room for while it reads a statement, what a computation may take.
    ///
    /// The rest is the statement's own, with its subqueries. (A newer SQLite has no such bound, the one of the run counts.)
    /// What is deeper becomes one call of `ferry_evaluate`.
    package static let depthLimit = 60

    /// How many symbols SQLite's parser holds at once while it reads the computation's text.
    ///
    /// In a call these are name, parenthesis, an empty DISTINCT and, but for the first argument, what stands before it
    /// with a comma; beside an operator its left side and itself.
    package var depth: Int {
        switch self {
        // A column with the name of its table, or what the scope has instead of one.
        case .column, .elementText, .parameter, .argument: 5
        case .call(_, let parts), .policy(_, let parts): Self.depth(parts, first: 3, others: 5)
        case .ifNull(let value, let substitute): Self.depth([value, substitute], first: 3, others: 5)
        case .real(_, let left, let right), .precedes(let left, let right, _):
            Self.depth([left, right], first: 1, others: 3)
        case .same(let left, let right): Self.depth([left, right], first: 0, others: 2)
        case .isNull(let part, _): part.depth
        // In groups, each of them in parentheses.
        case .all(let parts), .any(let parts): Self.depth(parts, first: 1, others: 3) + (parts.count > 32 ? 6 : 0)
        case .not(let part): part.depth + 2
        case .choose(let condition, let value, let other):
            max(condition.depth + 3, value.depth + 5, other.depth + 5)
        // What stands inside of it is never deeper than the room that it is given.
        case .collection(let collection):
            Self.collectionDepth * (1 + collection.unionDepth)
                + min(collection.parts.map(\.depth).max() ?? 0, Self.collectionRoom)
        }
    }

    /// What a subquery takes around the computations in it.
    static let collectionDepth = 20
    /// What the computations in it may take.
    static let collectionRoom = 25

    private static func depth(_ parts: [Computation], first: Int, others: Int) -> Int {
        var depth = 1
        for (place, part) in parts.enumerated() { depth = max(depth, part.depth + (place == 0 ? first : others)) }
        return depth
    }
}
