package import FerryBase

extension Expression {
    /// Reads a value expression.
    ///
    /// - Throws: ``FerryError`` `.badExpression` with the line and column of the error.
    package static func parse(_ text: String) throws(FerryError) -> Expression {
        try WorkThread.withStack { () throws(FerryError) in
            var parser = try Parser(text)
            let node = try parser.readAll()
            return try parser.expression(node)
        }
    }
}

extension Predicate {
    /// Reads a predicate.
    ///
    /// - Throws: ``FerryError`` `.badExpression` with the line and column of the error.
    package static func parse(_ text: String) throws(FerryError) -> Predicate {
        try WorkThread.withStack { () throws(FerryError) in
            var parser = try Parser(text)
            let node = try parser.readAll()
            return try parser.predicate(node)
        }
    }
}

/// Reads expressions and predicates in one pass, by precedence.
///
/// One grammar reads both, since a parenthesis may open either; the caller checks the kind of the result.
struct Parser {
    struct Node {
        var content: ExpressionPart
        /// The number of levels in the tree.
        var depth: Int
        var position: Int
    }

    /// The limit of nested parentheses, calls and prefixes: each level costs stack while the parser reads.
    static let nestingLimit = 64
    /// The limit of levels in the tree: each level costs stack in every walk of the tree.
    static let depthLimit = 200

    private(set) var lexer: Lexer
    private(set) var token: Token
    private var nesting = 0
    /// All parsed parts with their positions; nil if the caller does not need them.
    private(set) var parsedNodes: [Node]?

    init(_ text: String, notesPlaces: Bool = false) throws(FerryError) {
        parsedNodes = notesPlaces ? [] : nil
        lexer = try Lexer(text)
        token = try lexer.next()
    }

    mutating func readAll() throws(FerryError) -> Node {
        if token.kind == .end { throw error("it is empty") }
        let node = try read(.disjunction)
        if token.kind != .end { throw unexpected("the end") }
        return node
    }

    func expression(_ node: Node) throws(FerryError) -> Expression {
        guard case .expression(let expression) = node.content else {
            throw lexer.error("expected a value, found a condition", at: node.position)
        }
        return expression
    }

    func expressions(_ nodes: [Node]) throws(FerryError) -> [Expression] {
        try nodes.map { node throws(FerryError) in try expression(node) }
    }

    func predicate(_ node: Node) throws(FerryError) -> Predicate {
        guard case .predicate(let predicate) = node.content else {
            throw lexer.error(
                "expected a condition, found a value", at: node.position,
                remedy: "Compare it, as in `x == TRUE`.")
        }
        return predicate
    }

    // MARK: Operators

    private enum Infix {
        case or, and, range
        case comparison(Predicate.Comparison.Operator)
        case value(ValueOperator)
    }

    /// Alternative symbols of operators.
    private static let synonyms = ["||": "OR", "&&": "AND", "=": "==", "<>": "!=", "=<": "<=", "=>": ">="]

    private func infix() throws(FerryError) -> (operator: Infix, level: Level)? {
        let written: String
        switch token.kind {
        case .symbol(let symbol): written = Self.synonyms[symbol] ?? symbol
        case .word(let word): written = word.uppercased()
        default: return nil
        }
        switch written {
        case "OR": return (.or, .disjunction)
        case "AND": return (.and, .conjunction)
        case "BETWEEN": return (.range, .comparison)
        case "NOT": throw unexpected("an operator")
        case ":=":
            throw error(
                "an assignment (`:=`) binds a variable, and only Core Data binds the variables of a mapping model",
                remedy: Self.remedy)
        default: break
        }
        if let comparator = Predicate.Comparison.Operator(rawValue: written) {
            return (.comparison(comparator), .comparison)
        }
        if let value = ValueOperator.all.first(where: { $0.symbol == written }) { return (.value(value), value.level) }
        if let reason = Keyword.refused[written] { throw error(reason, remedy: Self.remedy) }
        if Keyword.calls.contains(written) { throw unsupported(written) }
        return nil
    }

    mutating func read(_ minimum: Level) throws(FerryError) -> Node { try readOperators(after: try prefix(), minimum) }

    private mutating func readOperators(after first: Node, _ minimum: Level) throws(FerryError) -> Node {
        var node = first
        while let (infix, level) = try infix(), level >= minimum {
            switch infix {
            case .or, .and: node = try combination(node, level)
            case .range: node = try range(of: node)
            case .comparison(let comparator): node = try comparison(of: node, comparator)
            case .value(let value):
                try advance()
                let right = try read(level.tighter)
                let operands = [try expression(node), try expression(right)]
                node = try join(.expression(.predefined(value.selector, operands)), [node, right])
                if level == .power, token.kind == .symbol("**") {
                    throw error("powers of powers need parentheses")
                }
            }
        }
        return node
    }

    /// Reads all operands of a run of ANDs or ORs.
    private mutating func combination(_ first: Node, _ level: Level) throws(FerryError) -> Node {
        var nodes = [first]
        var operands = [try predicate(first)]
        while let (_, next) = try infix(), next == level {
            try advance()
            let node = try read(level.tighter)
            operands.append(try predicate(node))
            nodes.append(node)
        }
        return try join(.predicate(level == .disjunction ? .or(operands) : .and(operands)), nodes)
    }

    mutating func options() throws(FerryError) -> String {
        guard token.kind == .symbol("[") else { return "" }
        try advance()
        guard case .word(let word) = token.kind, word.lowercased().allSatisfy("cdnl".contains) else {
            throw unexpected("one of the options c, d, n and l")
        }
        try advance()
        try pass("]")
        return word.lowercased()
    }

    private mutating func prefix() throws(FerryError) -> Node {
        nesting += 1
        defer { nesting -= 1 }
        if nesting > Self.nestingLimit { throw error("more than \(Self.nestingLimit) levels of nesting") }
        let start = token.position
        switch token.kind {
        case .symbol("!"): return try negation()
        case .word(let word) where word.uppercased() == "NOT": return try negation()
        case .word(let word) where Keyword.quantifiers.contains(word.uppercased()): return try quantified(word)
        case .symbol("-"):
            try advance()
            if let negative = try negativeLiteral() {
                return leaf(.expression(negative), start)
            }
            let operand = try read(.primary)
            let arguments = [try expression(operand), .constant(.integer(-1))]
            return try join(.expression(.predefined("multiply:by:", arguments)), [operand], at: start)
        default: return try postfix(try primary())
        }
    }

    /// Reads `ANY collection` and an operator with its right side.
    private mutating func quantified(_ word: String) throws(FerryError) -> Node {
        let start = token.position
        // SOME is ANY.
        let quantifier = Predicate.Quantifier(rawValue: word.uppercased()) ?? .any
        try advance()
        let collection = try read(Level.comparison.tighter)
        let member = leaf(.expression(.member), collection.position)
        let condition = try readOperators(after: member, .comparison)
        let predicate = Predicate.quantified(quantifier, try expression(collection), try predicate(condition))
        return try join(.predicate(predicate), [collection, condition], at: start)
    }

    private mutating func negation() throws(FerryError) -> Node {
        let start = token.position
        try advance()
        let operand = try read(.negation)
        return try join(.predicate(.not(try predicate(operand))), [operand], at: start)
    }

    /// Reads the number after a minus sign, with the sign: the smallest integer has no positive counterpart.
    private mutating func negativeLiteral() throws(FerryError) -> Expression? {
        switch token.kind {
        case .integer(let magnitude):
            guard magnitude <= UInt64(Int64.max) + 1 else { throw error("`-\(magnitude)` does not fit in 64 bits") }
            try advance()
            return .constant(.integer(Int64(truncatingIfNeeded: 0 &- magnitude)))
        case .double(let magnitude):
            try advance()
            return .constant(.double(-magnitude))
        default: return nil
        }
    }

    // MARK: Values

    private mutating func primary() throws(FerryError) -> Node {
        let start = token.position
        switch token.kind {
        case .symbol("("):
            try advance()
            var node = try read(.disjunction)
            try pass(")")
            node.position = start
            return node
        case .integer(let value):
            guard let integer = Int64(exactly: value) else { throw error("`\(value)` does not fit in 64 bits") }
            return try literal(.integer(integer))
        case .double(let value): return try literal(.double(value))
        case .string(let value): return try literal(.string(value))
        case .variable(let name):
            try advance()
            return leaf(.expression(.variable(name)), start)
        case .key(let key):
            try advance()
            return leaf(.expression(.keyPath(.evaluatedObject, [.key(key)])), start)
        case .word(let word): return try wordValue(word)
        case .symbol("{"):
            let elements = try list("a list")
            return try join(.expression(.list(try expressions(elements))), elements, at: start)
        case .symbol("%"): throw unsupported("a format argument")
        default: throw unexpected("a value")
        }
    }

    private mutating func wordValue(_ word: String) throws(FerryError) -> Node {
        let start = token.position
        let upper = word.uppercased()
        switch upper {
        case "TRUE", "YES": return try literal(.boolean(true))
        case "FALSE", "NO": return try literal(.boolean(false))
        case "NULL", "NIL": return try literal(.null)
        case "TRUEPREDICATE", "FALSEPREDICATE":
            try advance()
            return leaf(.predicate(.constant(upper == "TRUEPREDICATE")), start)
        case "SELF":
            try advance()
            return leaf(.expression(.evaluatedObject), start)
        default: break
        }
        if Keyword.operators.contains(upper) {
            throw error(
                "expected a value, found the operator \(upper)",
                remedy: "For a key of that name, write `#\(word)`.")
        }
        let called = token
        try advance()
        if token.kind == .symbol("(") { return try call(word, called) }
        if upper == "ANYKEY", let reason = Keyword.refused[upper] {
            throw lexer.error(reason, at: start, remedy: Self.remedy)
        }
        if word.contains(":") { throw lexer.error("`\(word)` needs its arguments in parentheses", at: start) }
        return leaf(.expression(.keyPath(.evaluatedObject, [.key(word)])), start)
    }

    // MARK: Tokens

    mutating func advance() throws(FerryError) { token = try lexer.next() }

    mutating func pass(_ symbol: String) throws(FerryError) {
        guard token.kind == .symbol(symbol) else { throw unexpected("`\(symbol)`") }
        try advance()
    }

    mutating func literal(_ constant: Expression.Constant) throws(FerryError) -> Node {
        let start = token.position
        try advance()
        return leaf(.expression(.constant(constant)), start)
    }

    mutating func leaf(_ content: ExpressionPart, _ position: Int) -> Node {
        note(Node(content: content, depth: 1, position: position))
    }

    private mutating func note(_ node: Node) -> Node {
        parsedNodes?.append(node)
        return node
    }

    mutating func join(_ content: ExpressionPart, _ parts: [Node], at position: Int? = nil) throws(FerryError) -> Node {
        let depth = (parts.map(\.depth).max() ?? 0) + 1
        if depth > Self.depthLimit { throw error("more than \(Self.depthLimit) operations in a row") }
        return note(
            Node(content: content, depth: depth, position: position ?? parts.first?.position ?? token.position))
    }

    static let remedy = "Write it differently, or compute it in a migration policy."

    func unsupported(_ construct: String) -> FerryError {
        error("\(construct) is not supported", remedy: Self.remedy)
    }

    func unexpected(_ wanted: String) -> FerryError {
        switch token.kind {
        case .end: error("expected \(wanted) at the end")
        case .word(let text), .symbol(let text): error("expected \(wanted), found `\(text)`")
        default: error("expected \(wanted)")
        }
    }

    func error(_ problem: String, remedy: String = "") -> FerryError {
        lexer.error(problem, at: token.position, remedy: remedy)
    }
}

/// The precedence of an operator, loosest first; a looser operand of a tighter operator needs parentheses.
enum Level: Int, Comparable {
    case disjunction, conjunction, negation, comparison, sum, product, power, primary

    static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    var tighter: Level { Level(rawValue: rawValue + 1) ?? .primary }
}

/// An operator between two values, and its predefined function.
struct ValueOperator {
    let symbol: String
    let selector: String
    let level: Level

    static let all =
        [
            ValueOperator(symbol: "+", selector: "add:to:", level: .sum),
            ValueOperator(symbol: "-", selector: "from:subtract:", level: .sum),
            ValueOperator(symbol: "*", selector: "multiply:by:", level: .product),
            ValueOperator(symbol: "/", selector: "divide:by:", level: .product),
            ValueOperator(symbol: "**", selector: "raise:toPower:", level: .power),
        ] + SetOperator.allCases.map { ValueOperator(symbol: $0.symbol, selector: $0.rawValue, level: .sum) }
}
