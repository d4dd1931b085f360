internal import FerryBase

/// Calls: `FUNCTION(…)`, `JSON(…)`, `CAST(…)` and the predefined functions.
extension Parser {
    mutating func call(_ word: String, _ called: Token) throws(FerryError) -> Node {
        let upper = word.uppercased()
        let nodes = try elements(from: "(", to: ")", .disjunction)
        let value: Expression =
            switch upper {
            case "TERNARY": try ternary(nodes, called)
            case "SUBQUERY": try subquery(nodes, called)
            case "FUNCTION": try function(try expressions(nodes), called)
            case "JSON": try json(try expressions(nodes), called)
            case "FETCH": try fetch(try expressions(nodes), called)
            case "CAST" where nodes.count == 2: .predefined("castObject:toType:", try expressions(nodes))
            case "UNION", "INTERSECT", "MINUS": try sets(upper, try expressions(nodes), called)
            default: try predefined(word, try expressions(nodes), called)
            }
        return try join(.expression(value), nodes, at: called.position)
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
        guard arguments.count == 3, let expression = try Expression(fetchRequest: arguments[0]) else {
            throw lexer.error(
                "FETCH needs FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Entity', "
                    + "'predicate'), $manager.sourceContext and NO", at: called.position)
        }
        switch arguments[2] {
        case .constant(.boolean(true)), .constant(.integer(1)):
            return .keyPath(expression, [.collectionOperator("count")])
        case .constant(.boolean(false)), .constant(.integer(0)): return expression
        default: throw lexer.error("FETCH ends with YES (only the count) or NO", at: called.position)
        }
    }

    /// `UNION(a, b)`, which is `a UNION b`.
    private func sets(_ word: String, _ arguments: [Expression], _ called: Token) throws(FerryError) -> Expression {
        guard arguments.count == 2, let sets = SetOperator.allCases.first(where: { $0.symbol == word }) else {
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
