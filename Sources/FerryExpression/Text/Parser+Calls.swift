internal import FerryBase

/// Calls: `FUNCTION(…)`, `JSON(…)`, `CAST(…)` and the predefined functions.
extension Parser {
    mutating func call(_ word: String, _ called: Token) throws(FerryError) -> Node {
        let nodes = try elements(from: "(", to: ")", .disjunction)
        let value = try value(of: word, nodes, at: called.position)
        return try join(.expression(value), nodes, at: called.position)
    }

    private func value(of word: String, _ nodes: [Node], at position: Int) throws(FerryError) -> Expression {
        func wrong(_ problem: String) -> FerryError { lexer.error(problem, at: position) }
        let upper = word.uppercased()
        switch upper {
        case "TERNARY":
            guard nodes.count == 3 else { throw wrong("TERNARY needs a condition and two values") }
            return .ternary(try predicate(nodes[0]), try expression(nodes[1]), try expression(nodes[2]))
        case "SUBQUERY":
            guard nodes.count == 3, case .variable(let name) = try expression(nodes[1]) else {
                throw wrong("SUBQUERY needs a collection, a $variable and a condition")
            }
            return .subquery(try expression(nodes[0]), variable: name, try predicate(nodes[2]))
        default: break
        }
        let arguments = try expressions(nodes)
        switch upper {
        case "FUNCTION":
            guard arguments.count >= 2, case .constant(.string(let selector)) = arguments[1] else {
                throw wrong("FUNCTION needs a receiver and a selector in quotes")
            }
            let rest = Array(arguments.dropFirst(2))
            let wanted = selector.count { $0 == ":" }
            guard wanted == rest.count else {
                throw wrong("\(selector) takes \(wanted) arguments and was given \(rest.count)")
            }
            return .function(receiver: arguments[0], selector: selector, arguments: rest)
        case "JSON":
            guard arguments.count == 2, case .constant(.string(let key)) = arguments[1] else {
                throw wrong("JSON needs a text and a key in quotes")
            }
            return .json(arguments[0], key: key)
        case "FETCH":
            guard arguments.count == 3, let fetch = try Expression(fetchRequest: arguments[0]) else {
                throw wrong(
                    "FETCH needs FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Entity', "
                        + "'predicate'), $manager.sourceContext and NO")
            }
            switch arguments[2] {
            case .constant(.boolean(true)), .constant(.integer(1)):
                return .keyPath(fetch, [.collectionOperator("count")])
            case .constant(.boolean(false)), .constant(.integer(0)): return fetch
            default: throw wrong("FETCH ends with YES (only the count) or NO")
            }
        case "CAST" where arguments.count == 2: return .predefined("castObject:toType:", arguments)
        default: break
        }
        // `UNION(a, b)`, which is `a UNION b`.
        if let sets = SetOperator.allCases.first(where: { $0.symbol == upper }) {
            guard arguments.count == 2 else { throw wrong("\(upper) needs two collections") }
            return .predefined(sets.rawValue, arguments)
        }
        return try predefined(word, arguments, at: position)
    }

    private func predefined(
        _ word: String, _ arguments: [Expression], at position: Int
    ) throws(FerryError) -> Expression {
        guard let known = PredefinedFunction.all[word] ?? PredefinedFunction.all["\(word):"] else {
            throw lexer.error(
                "there is no function \(word)", at: position,
                remedy: NearNames.remedy(for: word, among: Array(PredefinedFunction.all.keys)))
        }
        // `random` and `random:` differ only by their argument.
        let other = PredefinedFunction.all["\(word):"]
        let function = known.argumentCount == arguments.count ? known : other ?? known
        guard function.argumentCount == arguments.count else {
            throw lexer.error(
                "\(function.selector) takes \(function.argumentCount) arguments and was given \(arguments.count)",
                at: position)
        }
        return .call(function.selector, arguments)
    }
}
