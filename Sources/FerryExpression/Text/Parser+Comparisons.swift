internal import FerryBase

/// Comparisons that are others in short: they are read as what they stand for.
extension Parser {
    /// `a BEGINSWITH 'x'` and its kin: `a MATCHES` the pattern that says the same.
    mutating func comparison(_ left: Node, by pattern: TextOperator) throws(FerryError) -> Node {
        try advance()
        let options = try options()
        let right = try read(Level.comparison.tighter)
        guard case .constant(let constant) = try expression(right) else {
            let comparison = Predicate.Comparison(
                left: try expression(left), comparator: pattern.comparator, right: try expression(right),
                options: options)
            return try join(.predicate(.comparison(comparison)), [left, right])
        }
        guard case .string(let text) = constant, !text.isEmpty || pattern == .like else {
            throw lexer.error(
                "\(pattern.rawValue) is supported only with a text that is not empty", at: right.position,
                remedy: Self.remedy)
        }
        let comparison = Predicate.Comparison(
            left: try expression(left), comparator: .matches, right: .constant(.string(pattern.pattern(for: text))),
            options: options)
        return try join(.predicate(.comparison(comparison)), [left, right])
    }

    /// Values that a list may have: a statement has room for as many, several times over.
    private static var elementLimit: Int { 2_000 }

    /// `a IN {x, y}`: `a == x OR a == y`.
    mutating func membership(of left: Node) throws(FerryError) -> Node {
        try advance()
        let options = try options()
        let start = token.position
        guard token.kind == .symbol("{") else {
            let right = try read(Level.comparison.tighter)
            let comparison = Predicate.Comparison(
                left: try expression(left), comparator: .isIn, right: try expression(right), options: options)
            return try join(.predicate(.comparison(comparison)), [left, right])
        }
        let elements = try list("IN")
        // The left side stands once for each element.
        guard elements.count <= Self.elementLimit, elements.count * (start - left.position) <= Lexer.lengthLimit * 4
        else {
            throw lexer.error(
                "IN has more than \(Self.elementLimit) values, or many of a long expression", at: start,
                remedy: "Split it by OR, or compute it in a migration policy.")
        }
        let value = try expression(left)
        var comparisons: [Predicate] = []
        for element in elements {
            comparisons.append(
                .comparison(.init(left: value, comparator: .equal, right: try expression(element), options: options)))
        }
        let predicate: Predicate =
            switch comparisons.count {
            case 0: .constant(false)
            case 1: comparisons[0]
            default: .or(comparisons)
            }
        return try join(.predicate(predicate), [left] + elements)
    }

    /// `a BETWEEN {x, y}`: `a >= x AND a <= y`.
    mutating func range(of left: Node) throws(FerryError) -> Node {
        try advance()
        let start = token.position
        let bounds = try list("BETWEEN")
        guard bounds.count == 2 else { throw lexer.error("BETWEEN needs two bounds", at: start) }
        let value = try expression(left)
        let predicate = Predicate.and([
            .comparison(.init(left: value, comparator: .greaterOrEqual, right: try expression(bounds[0]))),
            .comparison(.init(left: value, comparator: .lessOrEqual, right: try expression(bounds[1]))),
        ])
        return try join(.predicate(predicate), [left] + bounds)
    }

    mutating func list(_ word: String) throws(FerryError) -> [Node] {
        guard token.kind == .symbol("{") else { throw unsupported("\(word) with anything but a list in braces") }
        try advance()
        var nodes: [Node] = []
        if token.kind != .symbol("}") {
            nodes.append(try read(Level.comparison.tighter))
            while token.kind == .symbol(",") {
                try advance()
                nodes.append(try read(Level.comparison.tighter))
            }
        }
        try pass("}")
        return nodes
    }
}
