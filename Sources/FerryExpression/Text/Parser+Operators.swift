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

/// What stands behind a value: keys, operators and places.
extension Parser {
    /// Keys after a value.
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

    /// `[0]`, `[FIRST]`, `[LAST]` or `[SIZE]`.
    mutating func element(of base: Node) throws(FerryError) -> Node {
        try advance()
        let index: ElementIndex
        switch token.kind {
        case .integer(let number):
            guard let number = Int64(exactly: number) else { throw unexpected("an index") }
            index = .at(number)
        case .word(let word) where word.uppercased() == "FIRST": index = .first
        case .word(let word) where word.uppercased() == "LAST": index = .last
        case .word(let word) where word.uppercased() == "SIZE": index = .size
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

/// An operator on text that is a regular expression in other words.
enum TextOperator: String {
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"

    /// The comparison where the text is known only row by row.
    var comparator: Predicate.Comparison.Operator {
        switch self {
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .contains: .contains
        case .like: .like
        }
    }

    /// The regular expression that fits the same whole texts.
    func pattern(for text: String) -> String {
        switch self {
        case .beginsWith: "(?s)\(Self.literal(text)).*"
        case .endsWith: "(?s).*\(Self.literal(text))"
        case .contains: "(?s).*\(Self.literal(text)).*"
        case .like: "(?s)\(Self.wildcards(text))"
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

    /// `*` stands for any text and `?` for one character; after a backslash each stands for itself.
    ///
    /// What stands between two `*` may be taken where it first occurs: if the rest fits after any later place, it fits
    /// after that one. So nothing is tried twice, and the time is at most the text's length times the pattern's.
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

/// What is made of two collections as sets, in which equal members are one: `a UNION b` and its kin.
package enum SetOperator: String, Sendable, CaseIterable {
    case union = "union:with:"
    case intersect = "intersect:with:"
    case minus = "minus:with:"

    /// The word between the two.
    package var symbol: String {
        switch self {
        case .union: "UNION"
        case .intersect: "INTERSECT"
        case .minus: "MINUS"
        }
    }

    init?(symbol: String) {
        guard let found = Self.allCases.first(where: { $0.symbol == symbol }) else { return nil }
        self = found
    }
}
