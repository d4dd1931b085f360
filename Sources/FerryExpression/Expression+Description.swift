internal import FerryBase

/// The canonical text, which parses back to the same expression.
extension Expression: CustomStringConvertible {
    package var description: String { WorkThread.withStack { text(.loosest) } }

    /// How tightly a form binds; a looser one needs parentheses inside a tighter one.
    enum Precedence: Int, Comparable {
        case loosest, sum, product, power, primary

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
        var tighter: Precedence { Precedence(rawValue: rawValue + 1) ?? .primary }
    }

    func text(_ minimum: Precedence) -> String {
        let (text, precedence) = form
        return precedence < minimum ? "(\(text))" : text
    }

    private var form: (text: String, precedence: Precedence) {
        switch self {
        case .constant(let constant): (constant.description, constant.isNegative ? .power : .primary)
        case .evaluatedObject: ("SELF", .primary)
        case .variable(let name): ("$\(name)", .primary)
        case .keyPath(let base, let steps): (keyPathText(base, steps), .primary)
        case .function(let receiver, let selector, let arguments):
            (
                "FUNCTION(\(Self.list([receiver, .constant(.string(selector))] + arguments)))",
                .primary
            )
        case .predefined(let selector, let arguments): predefinedForm(selector, arguments)
        case .json(let text, let key): ("JSON(\(text), \(Constant.string(key)))", .primary)
        case .ternary(let condition, let value, let other): ("TERNARY(\(condition), \(value), \(other))", .primary)
        case .list(let elements): ("{\(Self.list(elements))}", .primary)
        case .subquery(let collection, let name, let condition):
            ("SUBQUERY(\(collection), $\(name), \(condition))", .primary)
        case .fetch(let entity, let condition):
            (
                "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", "
                    + "\(Constant.string(entity)), \(Constant.string(condition.description))), "
                    + "$manager.sourceContext, FALSE)",
                .primary
            )
        case .element(let list, let index): ("\(list.text(.primary))[\(index)]", .primary)
        }
    }

    private func keyPathText(_ base: Expression, _ steps: [KeyPathStep]) -> String {
        let path = steps.map(\.description).joined(separator: ".")
        if case .evaluatedObject = base, case .key? = steps.first { return path }
        return "\(base.text(.primary)).\(path)"
    }

    private func predefinedForm(_ selector: String, _ arguments: [Expression]) -> (text: String, precedence: Precedence)
    {
        if arguments.count == 2, let sign = PredefinedFunction.operators[selector] {
            // Operators group from the left; a chain of powers is always in parentheses.
            let left = arguments[0].text(sign.precedence == .power ? .primary : sign.precedence)
            let right = arguments[1].text(sign.precedence.tighter)
            return ("\(left) \(sign.symbol) \(right)", sign.precedence)
        }
        if selector == "castObject:toType:" { return ("CAST(\(Self.list(arguments)))", .primary) }
        let name = arguments.count == 1 && selector.hasSuffix(":") ? String(selector.dropLast()) : selector
        return ("\(name)(\(Self.list(arguments)))", .primary)
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
        case .string(let string): "\"\(Self.escaped(string))\""
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

    private static func escaped(_ string: String) -> String {
        var text = ""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\0"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16, uppercase: true)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
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
    package var description: String { WorkThread.withStack { text(.loosest) } }

    private enum Precedence: Int { case loosest, conjunction, negation, primary }

    private func text(_ minimum: Precedence) -> String {
        let (text, precedence) = form
        return precedence.rawValue < minimum.rawValue ? "(\(text))" : text
    }

    private var form: (text: String, precedence: Precedence) {
        switch self {
        case .constant(let holds): (holds ? "TRUEPREDICATE" : "FALSEPREDICATE", .primary)
        case .comparison(let comparison): (comparison.description, .primary)
        case .not(let operand): ("NOT \(operand.text(.negation))", .negation)
        case .quantified(let quantifier, let collection, let condition):
            ("\(quantifier.rawValue) \(collection.text(.sum)) \(condition.ofMember)", .primary)
        case .and(let operands): joined(operands, "AND", .conjunction, inside: .negation, empty: "TRUEPREDICATE")
        case .or(let operands): joined(operands, "OR", .loosest, inside: .conjunction, empty: "FALSEPREDICATE")
        }
    }

    /// What is said of a member, without the member: an operator and its right side.
    private var ofMember: String {
        switch self {
        case .comparison(let comparison): "\(comparison.relation) \(comparison.right)"
        case .or(let operands): "IN\(operands.memberOptions) {\(operands.memberValues)}"
        case .and(let operands): "BETWEEN {\(operands.memberValues)}"
        // A list without values holds nothing.
        default: "IN {}"
        }
    }

    private func joined(
        _ operands: [Predicate], _ word: String, _ precedence: Precedence, inside: Precedence, empty: String
    ) -> (text: String, precedence: Precedence) {
        switch operands.count {
        case 0: (empty, .primary)
        case 1: operands[0].form
        default: (operands.map { $0.text(inside) }.joined(separator: " \(word) "), precedence)
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
