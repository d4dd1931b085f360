internal import FerryBase
internal import FerryModel

/// Ferry's own functions, with the types that they take.
extension ExpressionTranslation {
    func typed(
        _ function: TypedFunction, _ arguments: [Expression], _ expression: Expression
    ) throws(FerryError) -> Typed {
        var operands: [Computation] = []
        for (argument, wanted) in zip(arguments, function.arguments) {
            let operand = try value(argument)
            let isText = wanted == .text && operand.type.isText
            guard
                isText || operand.type == .null || operand.type == .dynamic || ValueMethod.Kind(operand.type) == wanted
            else { throw mismatch("\(wanted)", operand, expression).at(.expression(argument)) }
            if wanted == .data, try isExternal(argument) {
                throw FerryError(
                    .unsupported, "`\(expression)` reads data that may be kept outside of the database.",
                    remedy: "Compute the value in a migration policy.")
            }
            operands.append(operand.computation)
        }
        if ["ferry_date", "ferry_date_text"].contains(function.function) {
            try DatePattern.check(arguments[1], arguments.dropFirst(2).first, expression)
            if operands.count == 2 { operands.append(.parameter(.constant(.string("GMT")))) }
        }
        return Typed(computation: .call(function.function, operands), type: .attribute(function.result))
    }

    func isExternal(_ expression: Expression) throws(FerryError) -> Bool {
        guard case .keyPath(let base, let steps) = expression, base.isObject,
            case .attribute(let attribute, _) = try scope.resolve(base, steps).end
        else { return false }
        return attribute.allowsExternalStorage
    }

    /// `JSON(text, 'a.b')`: what stands under the keys, of whatever type.
    func json(_ text: Expression, _ key: String, _ expression: Expression) throws(FerryError) -> Typed {
        let operand = try value(text)
        let isFit =
            operand.type.isText || operand.type == .null || operand.type == .dynamic
            || operand.type == .attribute(.binary)
        guard isFit, !(try isExternal(text)) else {
            throw FerryError(
                .badExpression, "`\(expression)` reads JSON from \(operand.type.title).",
                remedy: "Name a String attribute, or a Binary Data attribute that is stored in the row.")
        }
        let keys = key.split(separator: ".").map { Computation.parameter(.constant(.string(String($0)))) }
        return Typed(computation: .call("ferry_json_value", [operand.computation] + keys), type: .dynamic)
    }

    /// What a table has for a value; nil for one that it does not have.
    func looked(up key: Expression, in table: Expression, _ expression: Expression) throws(FerryError) -> Typed {
        guard case .constant(.string(let text)) = table, text.hasPrefix("{") else {
            throw FerryError(
                .badExpression, "`\(expression)` names a table, which only a mapping file has.",
                remedy: "Write it under \"tables\" in a JSON mapping file, and its name in quotes.")
        }
        let operand = try value(key)
        let name: Computation
        switch operand.type {
        case .attribute(.string), .attribute(.uri), .null: name = operand.computation
        case .dynamic: name = .call("ferry_to_string", [operand.computation])
        case .attribute(let type) where type.isNumeric || type == .boolean:
            name = .call("ferry_to_string", [operand.computation])
        default: throw mismatch("a text or a number", operand, expression)
        }
        return Typed(
            computation: .call("ferry_json_get", [.parameter(.constant(.string(text))), name]), type: .dynamic)
    }

    /// The values of a list with a text between them.
    func joined(_ list: Expression, _ separator: Expression, _ expression: Expression) throws(FerryError) -> Typed {
        guard case .list(let elements) = list else {
            throw FerryError(
                .badExpression, "`\(expression)` joins something that is no list.",
                remedy: "Write the texts in braces: join:with:({a, b}, ' ').")
        }
        var operands: [Computation] = []
        for element in [separator] + elements {
            let operand = try value(element)
            guard operand.type.isText || operand.type == .dynamic || operand.type == .null else {
                throw mismatch("texts", operand, expression)
            }
            operands.append(operand.computation)
        }
        return Typed(computation: .call("ferry_join", operands), type: .attribute(.string))
    }
}
