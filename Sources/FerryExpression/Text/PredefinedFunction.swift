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
