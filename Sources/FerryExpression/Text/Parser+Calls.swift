internal import FerryBase

/// Calls: `FUNCTION(…)`, `JSON(…)`, `CAST(…)` and the predefined functions.
extension Parser {
    mutating func call(_ word: String, _ called: Token) throws(FerryError) -> Node {
        let upper = word.uppercased()
        let nodes = try arguments()
        switch upper {
        case "TERNARY":
            return try join(.expression(try ternary(nodes, called)), nodes, at: called.position)
        case "SUBQUERY":
            return try join(.expression(try subquery(nodes, called)), nodes, at: called.position)
        default: break
        }
        var arguments: [Expression] = []
        for node in nodes { arguments.append(try expression(node)) }
        let value: Expression =
            switch upper {
            case "FUNCTION": try function(arguments, called)
            case "JSON": try json(arguments, called)
            case "FETCH": try fetch(arguments, called)
            case "CAST" where arguments.count == 2: .predefined("castObject:toType:", arguments)
            case "UNION", "INTERSECT", "MINUS": try sets(upper, arguments, called)
            default: try predefined(word, arguments, called)
            }
        return try join(.expression(value), nodes, at: called.position)
    }

    private mutating func arguments() throws(FerryError) -> [Node] {
        try pass("(")
        var nodes: [Node] = []
        if token.kind != .symbol(")") {
            nodes.append(try read(.disjunction))
            while token.kind == .symbol(",") {
                try advance()
                nodes.append(try read(.disjunction))
            }
        }
        try pass(")")
        return nodes
    }

    private func function(_ arguments: [Expression], _ called: Token) throws(FerryError) -> Expression {
        guard arguments.count >= 2, case .constant(.string(let selector)) = arguments[1] else {
            throw lexer.error("FUNCTION needs a receiver and a selector in quotes", at: called.position)
        }
        let rest = Array(arguments.dropFirst(2))
        let wanted = selector.count { $0 == ":" }
        guard wanted == rest.count else {
            throw lexer.error("\(selector) takes \(wanted) arguments and was given \(rest.count)", at: called.position)
        }
        return .function(receiver: arguments[0], selector: selector, arguments: rest)
    }

    private func ternary(_ nodes: [Node], _ called: Token) throws(FerryError) -> Expression {
        guard nodes.count == 3 else {
            throw lexer.error("TERNARY needs a condition and two values", at: called.position)
        }
        return .ternary(try predicate(nodes[0]), try expression(nodes[1]), try expression(nodes[2]))
    }

    private func subquery(_ nodes: [Node], _ called: Token) throws(FerryError) -> Expression {
        guard nodes.count == 3, case .variable(let name) = try expression(nodes[1]) else {
            throw lexer.error("SUBQUERY needs a collection, a $variable and a condition", at: called.position)
        }
        return .subquery(try expression(nodes[0]), variable: name, try predicate(nodes[2]))
    }

    /// The one request that there is for fetches: the migration manager's, for objects of the source.
    private func fetch(_ arguments: [Expression], _ called: Token) throws(FerryError) -> Expression {
        guard arguments.count == 3,
            case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let request) =
                arguments[0],
            request.count == 2, case .constant(.string(let entity)) = request[0],
            case .constant(.string(let condition)) = request[1]
        else {
            throw lexer.error(
                "FETCH needs FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Entity', "
                    + "'predicate'), $manager.sourceContext and NO", at: called.position)
        }
        let expression = Expression.fetch(entity: entity, try Predicate.parse(condition))
        switch arguments[2] {
        case .constant(.boolean(true)), .constant(.integer(1)):
            return .keyPath(expression, [.collectionOperator("count")])
        case .constant(.boolean(false)), .constant(.integer(0)): return expression
        default: throw lexer.error("FETCH ends with YES (only the count) or NO", at: called.position)
        }
    }

    /// `UNION(a, b)`, which is `a UNION b`.
    private func sets(_ word: String, _ arguments: [Expression], _ called: Token) throws(FerryError) -> Expression {
        guard arguments.count == 2, let sets = SetOperator(symbol: word) else {
            throw lexer.error("\(word) needs two collections", at: called.position)
        }
        return .predefined(sets.rawValue, arguments)
    }

    private func json(_ arguments: [Expression], _ called: Token) throws(FerryError) -> Expression {
        guard arguments.count == 2, case .constant(.string(let key)) = arguments[1] else {
            throw lexer.error("JSON needs a text and a key in quotes", at: called.position)
        }
        return .json(arguments[0], key: key)
    }

    private func predefined(
        _ word: String, _ arguments: [Expression], _ called: Token
    ) throws(FerryError) -> Expression {
        guard let known = PredefinedFunction.all[word] ?? PredefinedFunction.all["\(word):"] else {
            throw lexer.error(
                "there is no function \(word)", at: called.position,
                remedy: NearNames.remedy(for: word, among: Array(PredefinedFunction.all.keys)))
        }
        // `random` and `random:` differ only by their argument.
        let other = PredefinedFunction.all["\(word):"]
        let function = known.argumentCount == arguments.count ? known : other ?? known
        guard function.argumentCount == arguments.count else {
            throw lexer.error(
                "\(function.selector) takes \(function.argumentCount) arguments and was given \(arguments.count)",
                at: called.position)
        }
        return .predefined(function.selector, arguments)
    }
}

/// A predefined function of the language: its selector, and the function of ours that computes it.
struct PredefinedFunction {
    let selector: String
    let argumentCount: Int
    /// The scalar function, or nil where there is none (`now`, and what works on collections).
    let function: String?

    /// What an operator stands for.
    struct Operator {
        let symbol: String
        let precedence: Expression.Precedence
    }

    static let operators: [String: Operator] = [
        "add:to:": Operator(symbol: "+", precedence: .sum),
        "from:subtract:": Operator(symbol: "-", precedence: .sum),
        "multiply:by:": Operator(symbol: "*", precedence: .product),
        "divide:by:": Operator(symbol: "/", precedence: .product),
        "raise:toPower:": Operator(symbol: "**", precedence: .power),
    ].merging(
        SetOperator.allCases.map { ($0.rawValue, Operator(symbol: $0.symbol, precedence: .sum)) },
        uniquingKeysWith: { first, _ in first })

    /// What the language has and no store has values for, with the reason.
    static let refused = [
        "distanceToLocation:fromLocation:": "needs locations (CLLocation), which no type of attribute holds"
    ]

    static let all: [String: PredefinedFunction] = Dictionary(
        uniqueKeysWithValues: [
            PredefinedFunction("now", 0, nil),
            PredefinedFunction("add:to:", 2, "ferry_add"),
            PredefinedFunction("from:subtract:", 2, "ferry_subtract"),
            PredefinedFunction("multiply:by:", 2, "ferry_multiply"),
            PredefinedFunction("divide:by:", 2, "ferry_divide"),
            PredefinedFunction("modulus:by:", 2, "ferry_modulus"),
            PredefinedFunction("raise:toPower:", 2, "ferry_power"),
            PredefinedFunction("sqrt:", 1, "ferry_sqrt"),
            PredefinedFunction("log:", 1, "ferry_log"),
            PredefinedFunction("ln:", 1, "ferry_ln"),
            PredefinedFunction("exp:", 1, "ferry_exp"),
            PredefinedFunction("abs:", 1, "ferry_abs"),
            PredefinedFunction("floor:", 1, "ferry_floor"),
            PredefinedFunction("ceiling:", 1, "ferry_ceiling"),
            PredefinedFunction("trunc:", 1, "ferry_trunc"),
            PredefinedFunction("uppercase:", 1, "ferry_uppercase"),
            PredefinedFunction("lowercase:", 1, "ferry_lowercase"),
            PredefinedFunction("canonical:", 1, "ferry_canonical"),
            PredefinedFunction("bitwiseAnd:with:", 2, "ferry_bitwise_and"),
            PredefinedFunction("bitwiseOr:with:", 2, "ferry_bitwise_or"),
            PredefinedFunction("bitwiseXor:with:", 2, "ferry_bitwise_xor"),
            PredefinedFunction("leftshift:by:", 2, "ferry_left_shift"),
            PredefinedFunction("rightshift:by:", 2, "ferry_right_shift"),
            PredefinedFunction("onesComplement:", 1, "ferry_ones_complement"),
            PredefinedFunction("castObject:toType:", 2, nil),
            PredefinedFunction("noindex:", 1, nil),
            // Ferry's own: the first value, or where that is nil the second.
            PredefinedFunction("ifnil:then:", 2, nil),
            // Ferry's own: the values of a list, those that are nil left out, with a text between them.
            PredefinedFunction("join:with:", 2, nil),
            // Ferry's own: what a table of the mapping file has for a value; its content stands for its name.
            PredefinedFunction(Expression.tableSelector, 2, nil),
            PredefinedFunction("random", 0, nil),
            PredefinedFunction("random:", 1, nil),
            PredefinedFunction("randomn:", 1, nil),
            PredefinedFunction("distanceToLocation:fromLocation:", 2, nil),
            PredefinedFunction("plist:", 1, nil),
            PredefinedFunction("plist:key:", 2, nil),
            PredefinedFunction("sum:", 1, nil),
            PredefinedFunction("count:", 1, nil),
            PredefinedFunction("min:", 1, nil),
            PredefinedFunction("max:", 1, nil),
            PredefinedFunction("average:", 1, nil),
            PredefinedFunction("median:", 1, nil),
            PredefinedFunction("mode:", 1, nil),
            PredefinedFunction("stddev:", 1, nil),
        ].map { ($0.selector, $0) }
            + SetOperator.allCases.map { ($0.rawValue, PredefinedFunction($0.rawValue, 2, nil)) }
            + TypedFunction.all.values.map { ($0.selector, PredefinedFunction($0.selector, $0.arguments.count, nil)) })

    private init(_ selector: String, _ argumentCount: Int, _ function: String?) {
        self.selector = selector
        self.argumentCount = argumentCount
        self.function = function
    }
}
