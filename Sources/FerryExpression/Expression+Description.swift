internal import FerryBase

/// The canonical text, which parses back to the same expression.
extension Expression: CustomStringConvertible {
    package var description: String { WorkThread.withStack { text(.disjunction) } }

    func text(_ minimum: Level) -> String {
        var level = sign?.level ?? .primary
        if case .constant(let constant) = self, constant.isNegative { level = .power }
        return level < minimum ? "(\(bareText))" : bareText
    }

    private var sign: ValueOperator? {
        guard case .predefined(let selector, let operands) = self, operands.count == 2 else { return nil }
        return ValueOperator.all.first { $0.selector == selector }
    }

    private var bareText: String {
        switch self {
        case .constant(let constant): constant.description
        case .predefined(let selector, let operands): predefinedText(selector, operands)
        case .ifNil(let value, let substitute): predefinedText(Self.ifNilSelector, [value, substitute])
        case .evaluatedObject: "SELF"
        case .variable(let name): "$\(name)"
        case .keyPath(let base, let steps): keyPathText(base, steps)
        case .function(let receiver, let selector, let arguments):
            "FUNCTION(\(Self.list([receiver, .constant(.string(selector))] + arguments)))"
        case .json(let text, let key): "JSON(\(text), \(Constant.string(key)))"
        case .ternary(let condition, let value, let other): "TERNARY(\(condition), \(value), \(other))"
        case .list(let elements): "{\(Self.list(elements))}"
        case .subquery(let collection, let name, let condition): "SUBQUERY(\(collection), $\(name), \(condition))"
        case .fetch(let entity, let condition):
            "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", "
                + "\(Constant.string(entity)), \(Constant.string(condition.description))), "
                + "$manager.sourceContext, FALSE)"
        case .element(let list, let index): "\(list.text(.primary))[\(index)]"
        }
    }

    private func keyPathText(_ base: Expression, _ steps: [KeyPathStep]) -> String {
        let path = steps.map(\.description).joined(separator: ".")
        if case .evaluatedObject = base, case .key? = steps.first { return path }
        return "\(base.text(.primary)).\(path)"
    }

    private func predefinedText(_ selector: String, _ operands: [Expression]) -> String {
        if let sign {
            // Operators are left-associative; a chain of powers always has parentheses.
            let left = operands[0].text(sign.level == .power ? .primary : sign.level)
            return "\(left) \(sign.symbol) \(operands[1].text(sign.level.tighter))"
        }
        if selector == "castObject:toType:" { return "CAST(\(Self.list(operands)))" }
        let name = operands.count == 1 && selector.hasSuffix(":") ? String(selector.dropLast()) : selector
        return "\(name)(\(Self.list(operands)))"
    }

    private static func list(_ expressions: [Expression]) -> String {
        expressions.map(\.description).joined(separator: ", ")
    }
}

extension Expression.Constant: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "NULL"
        case .boolean(let flag): flag ? "TRUE" : "FALSE"
        case .integer(let integer): String(integer)
        case .double(let double): double.description
        case .string(let string): JSONNode.quoted(string, asExpression: true)
        }
    }

    /// Whether the text begins with a minus sign.
    var isNegative: Bool {
        switch self {
        case .integer(let integer): integer < 0
        case .double(let double): double.sign == .minus
        default: false
        }
    }
}

extension ElementIndex: CustomStringConvertible {
    package var description: String {
        switch self {
        case .at(let index): String(index)
        case .first: "FIRST"
        case .last: "LAST"
        case .size: "SIZE"
        }
    }
}

extension KeyPathStep: CustomStringConvertible {
    package var description: String {
        switch self {
        case .key(let key): Keyword.isReserved(key) ? "#\(key)" : key
        case .collectionOperator(let name): "@\(name)"
        }
    }
}

/// The canonical text, which parses back to the same predicate.
extension Predicate: CustomStringConvertible {
    package var description: String { WorkThread.withStack { text(.disjunction) } }

    private func text(_ minimum: Level) -> String {
        let (text, level) = form
        return level < minimum ? "(\(text))" : text
    }

    private var form: (text: String, level: Level) {
        switch self {
        case .constant(let holds): (holds ? "TRUEPREDICATE" : "FALSEPREDICATE", .primary)
        case .comparison(let comparison): (comparison.description, .primary)
        case .not(let operand): ("NOT \(operand.text(.negation))", .negation)
        case .quantified(let quantifier, let collection, let condition):
            ("\(quantifier.rawValue) \(collection.text(.sum)) \(condition.ofMember)", .primary)
        case .and(let operands): joined(operands, "AND", .conjunction, inside: .negation, empty: "TRUEPREDICATE")
        case .or(let operands): joined(operands, "OR", .disjunction, inside: .conjunction, empty: "FALSEPREDICATE")
        }
    }

    /// The condition on a member, without the member: an operator and its right side.
    private var ofMember: String {
        switch self {
        case .comparison(let comparison): "\(comparison.relation) \(comparison.right)"
        case .or(let operands): "IN\(operands.memberOptions) {\(operands.memberValues)}"
        case .and(let operands): "BETWEEN {\(operands.memberValues)}"
        // An empty list contains no value.
        default: "IN {}"
        }
    }

    private func joined(
        _ operands: [Predicate], _ word: String, _ level: Level, inside: Level, empty: String
    ) -> (text: String, level: Level) {
        switch operands.count {
        case 0: (empty, .primary)
        case 1: operands[0].form
        default: (operands.map { $0.text(inside) }.joined(separator: " \(word) "), level)
        }
    }
}

extension Predicate.Comparison: CustomStringConvertible {
    package var description: String { "\(left) \(relation) \(right)" }

    fileprivate var relation: String { "\(comparator.rawValue)\(options.isEmpty ? "" : "[\(options)]")" }
}

extension [Predicate] {
    private var comparisons: [Predicate.Comparison] {
        compactMap { if case .comparison(let comparison) = $0 { comparison } else { nil } }
    }

    fileprivate var memberValues: String { comparisons.map(\.right.description).joined(separator: ", ") }
    fileprivate var memberOptions: String {
        comparisons.first.map { $0.options.isEmpty ? "" : "[\($0.options)]" } ?? ""
    }
}
