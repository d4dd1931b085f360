internal import FerryBase

/// Comparisons; some are abbreviations, which the parser replaces.
extension Parser {
    mutating func comparison(
        of left: Node, _ comparator: Predicate.Comparison.Operator
    ) throws(FerryError) -> Node {
        try advance()
        let options = try options()
        let right = try read(Level.comparison.tighter)
        // Also a list in parentheses.
        if comparator == .isIn, case .list(let elements) = try expression(right) {
            return try membership(of: left, elements, right, options)
        }
        if comparator.searchFunction != nil, case .constant(let constant) = try expression(right) {
            guard case .string(let text) = constant, !text.isEmpty || comparator == .like else {
                throw lexer.error(
                    "\(comparator.rawValue) needs a text that is not empty", at: right.position,
                    remedy: Self.remedy)
            }
        }
        let predicate = Predicate.compare(try expression(left), comparator, try expression(right), options)
        return try join(.predicate(predicate), [left, right])
    }

    /// The limit of values in a list: a statement allows several times as many.
    private static var elementLimit: Int { 2_000 }

    /// Returns `a IN {x, y}`, whose list has been read.
    private mutating func membership(
        of left: Node, _ elements: [Expression], _ list: Node, _ options: String
    ) throws(FerryError) -> Node {
        // The condition repeats the left side for each element.
        let length = list.position - left.position
        guard elements.count <= Self.elementLimit, elements.count * length <= Lexer.lengthLimit * 4 else {
            throw lexer.error(
                "IN has more than \(Self.elementLimit) values, or many of a long expression", at: list.position,
                remedy: "Split it with OR, or compute it in a migration policy.")
        }
        let predicate = Predicate.isEqual(try expression(left), toOneOf: elements, options)
        return try join(.predicate(predicate), [left, list])
    }

    /// Reads `a BETWEEN {x, y}`.
    mutating func range(of left: Node) throws(FerryError) -> Node {
        try advance()
        let start = token.position
        let bounds = try list("BETWEEN")
        guard bounds.count == 2 else { throw lexer.error("BETWEEN needs two bounds", at: start) }
        let predicate = Predicate.isBetween(
            try expression(left), try expression(bounds[0]), try expression(bounds[1]), "")
        return try join(.predicate(predicate), [left] + bounds)
    }

    mutating func list(_ word: String) throws(FerryError) -> [Node] {
        guard token.kind == .symbol("{") else { throw unsupported("\(word) with anything but a list in braces") }
        return try elements(from: "{", to: "}", Level.comparison.tighter)
    }

    /// Reads elements between brackets, separated by commas.
    mutating func elements(
        from opening: String, to closing: String, _ level: Level
    ) throws(FerryError) -> [Node] {
        try pass(opening)
        var nodes: [Node] = []
        if token.kind != .symbol(closing) {
            nodes.append(try read(level))
            while token.kind == .symbol(",") {
                try advance()
                nodes.append(try read(level))
            }
        }
        try pass(closing)
        return nodes
    }
}

/// Keys, operators and indexes behind a value.
extension Parser {
    mutating func postfix(_ first: Node) throws(FerryError) -> Node {
        var base = first
        while true {
            switch token.kind {
            case .symbol("."): base = try keys(after: base)
            case .symbol("["): base = try element(of: base)
            default: return base
            }
        }
    }

    /// Reads `[0]`, `[FIRST]`, `[LAST]` or `[SIZE]`.
    mutating func element(of base: Node) throws(FerryError) -> Node {
        try advance()
        let index: ElementIndex
        switch token.kind {
        case .integer(let number):
            guard let number = Int64(exactly: number) else { throw unexpected("an index") }
            index = .at(number)
        case .word(let word):
            guard let known = ElementIndex(word: word) else { fallthrough }
            index = known
        default: throw unexpected("a number, FIRST, LAST or SIZE")
        }
        try advance()
        try pass("]")
        return try join(.expression(.element(try expression(base), index)), [base], at: base.position)
    }

    mutating func keys(after base: Node) throws(FerryError) -> Node {
        var expression = try expression(base)
        var steps: [KeyPathStep] = []
        if case .keyPath(let inner, let first) = expression { (expression, steps) = (inner, first) }
        while token.kind == .symbol(".") {
            try advance()
            switch token.kind {
            case .word(let key) where !key.contains(":"), .key(let key): steps.append(.key(key))
            case .collectionOperator(let name): steps.append(.collectionOperator(name))
            default: throw unexpected("a key")
            }
            try advance()
        }
        return try join(.expression(.keyPath(expression, steps)), [base], at: base.position)
    }
}

/// Predicates in the evaluated form.
extension Predicate {
    /// Returns a comparison; a search for a constant text becomes a regular expression.
    static func compare(
        _ left: Expression, _ comparator: Comparison.Operator, _ right: Expression, _ options: String
    ) -> Predicate {
        if case .constant(.string(let text)) = right, !text.isEmpty || comparator == .like,
            let pattern = comparator.pattern(for: text)
        {
            return .comparison(
                .init(left: left, comparator: .matches, right: .constant(.string(pattern)), options: options))
        }
        return .comparison(.init(left: left, comparator: comparator, right: right, options: options))
    }

    /// Returns `a == x OR a == y` for `a IN {x, y}`.
    static func isEqual(_ left: Expression, toOneOf elements: [Expression], _ options: String) -> Predicate {
        let parts = elements.map { compare(left, .equal, $0, options) }
        return parts.isEmpty ? .constant(false) : parts.count == 1 ? parts[0] : .or(parts)
    }

    /// Returns `a >= x AND a <= y` for `a BETWEEN {x, y}`.
    static func isBetween(_ left: Expression, _ low: Expression, _ high: Expression, _ options: String) -> Predicate {
        .and([compare(left, .greaterOrEqual, low, options), compare(left, .lessOrEqual, high, options)])
    }
}

/// Operators that search for a text; each has an equal regular expression.
extension Predicate.Comparison.Operator {
    /// The scalar functions for search texts that differ by row.
    static let searchFunctions: [Self: String] = [
        .beginsWith: "ferry_begins_with", .endsWith: "ferry_ends_with", .contains: "ferry_text_contains",
        .like: "ferry_like",
    ]

    var searchFunction: String? { Self.searchFunctions[self] }

    /// Returns the regular expression that matches the same whole texts; nil for an operator without a search text.
    func pattern(for text: String) -> String? {
        switch self {
        case .beginsWith: "(?s)\(Self.literal(text)).*"
        case .endsWith: "(?s).*\(Self.literal(text))"
        case .contains: "(?s).*\(Self.literal(text)).*"
        case .like: "(?s)\(Self.wildcards(text))"
        default: nil
        }
    }

    private static func literal(_ text: some StringProtocol) -> String {
        var pattern = ""
        for scalar in text.unicodeScalars {
            if scalar.isASCII, scalar.value > 0x20, !scalar.properties.isAlphabetic, !("0"..."9").contains(scalar) {
                pattern += "\\"
            }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern
    }

    /// Returns the pattern of a `LIKE`: `*` means any text, `?` one character; after a backslash each means itself.
    ///
    /// The text between two `*` may match at its first occurrence: if the rest matches after a later one, it also
    /// matches after the first. So the pattern never backtracks; the time is at most text length times pattern length.
    private static func wildcards(_ text: String) -> String {
        var pieces = [""]
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "*": pieces.append("")
            case "?": pieces[pieces.count - 1] += "."
            case "\\": pieces[pieces.count - 1] += literal(String(scalars.next() ?? scalar))
            default: pieces[pieces.count - 1] += literal(String(scalar))
            }
        }
        guard pieces.count > 1 else { return pieces[0] }
        let between = pieces[1..<pieces.count - 1].filter { !$0.isEmpty }.map { "(?>.*?\($0))" }
        return pieces[0] + between.joined() + ".*" + pieces[pieces.count - 1]
    }
}

/// An operation on two collections as sets, in which equal members are one: `a UNION b`, `a MINUS b`.
package enum SetOperator: String, Sendable, CaseIterable {
    case union = "union:with:"
    case intersect = "intersect:with:"
    case minus = "minus:with:"

    /// The word between the two collections.
    package var symbol: String {
        switch self {
        case .union: "UNION"
        case .intersect: "INTERSECT"
        case .minus: "MINUS"
        }
    }
}
