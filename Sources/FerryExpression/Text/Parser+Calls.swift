internal import FerryBase

/// Calls: `FUNCTION(…)`, `JSON(…)`, `CAST(…)` and the predefined functions.
extension Parser {
    mutating func call(_ word: String, _ called: Token) throws(FerryError) -> Node {
        let upper = word.uppercased()
        guard !["TERNARY", "SUBQUERY", "FETCH", "UNION", "INTERSECT", "MINUS"].contains(upper) else {
            throw lexer.error("\(upper) is not supported", at: called.position, remedy: Self.remedy)
        }
        let nodes = try arguments()
        var arguments: [Expression] = []
        for node in nodes { arguments.append(try expression(node)) }
        let value: Expression =
            switch upper {
            case "FUNCTION": try function(arguments, called)
            case "JSON": try json(arguments, called)
            case "CAST" where arguments.count == 2: .predefined("castObject:toType:", arguments)
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
