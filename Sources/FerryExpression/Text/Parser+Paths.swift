internal import FerryBase

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
