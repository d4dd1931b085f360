extension Expression {
    /// The expressions that it is directly made of, those of its conditions among them.
    package var parts: [Expression] {
        switch self {
        case .constant, .evaluatedObject, .variable: []
        case .keyPath(let base, _): [base]
        case .function(let receiver, _, let arguments): [receiver] + arguments
        case .predefined(_, let operands), .list(let operands): operands
        case .json(let text, _): [text]
        case .ternary(let condition, let value, let other): condition.parts + [value, other]
        case .subquery(let collection, _, let condition): [collection] + condition.parts
        case .fetch(_, let condition): condition.parts
        case .element(let list, _): [list]
        }
    }
}

extension Predicate {
    /// The expressions that it compares.
    package var parts: [Expression] {
        switch self {
        case .constant: []
        case .comparison(let comparison): [comparison.left, comparison.right]
        case .and(let operands), .or(let operands): operands.flatMap(\.parts)
        case .not(let operand): operand.parts
        case .quantified(_, let collection, let condition): [collection] + condition.parts
        }
    }
}
