internal import FerryBase
internal import FerryModel

/// Numbers that are drawn, and values of property lists.
extension ExpressionTranslation {
    /// `random()`, `random:(n)` and `randomn:(n)`; the last argument is the place in the mapping, where it is known.
    func drawn(
        _ arguments: [Expression], _ selector: String, _ expression: Expression
    ) throws(FerryError) -> Typed {
        var operands = arguments
        let limit = selector == "random" ? nil : operands.removeFirst()
        let place: Expression.Constant =
            if case .constant(.string(let text))? = operands.first { .string(text) } else { .string("") }
        let key = Computation.column(ResolvedPath(start: .source, end: .object(entity: scope.entity)))
        let element: Computation =
            switch scope.iteration?.element {
            case nil: .parameter(.constant(.null))
            case .object(let entity): .column(ResolvedPath(start: .element, end: .object(entity: entity)))
            case .json: .column(ResolvedPath(start: .element, end: .json(keys: [])))
            }
        let parts = [.parameter(.now), key, element, .parameter(.constant(place))]
        guard let limit else {
            return Typed(computation: .call("ferry_random", parts), type: .attribute(.double))
        }
        let count = try number(limit, expression)
        guard count.type.isInteger || count.type == .dynamic || count.type == .null else {
            throw mismatch("a whole number", count, expression)
        }
        return Typed(
            computation: .call("ferry_random_below", parts + [count.computation]), type: .attribute(.integer64))
    }

    /// `plist:(data)` and `plist:key:(data, 'a.b')`: a value of a property list, of whatever type.
    func propertyList(
        _ list: Expression, _ key: Expression?, _ expression: Expression
    ) throws(FerryError) -> Typed {
        let operand = try value(list)
        let isFit =
            operand.type.isText || operand.type == .null || operand.type == .dynamic
            || operand.type == .attribute(.binary) || operand.type == .attribute(.transformable)
        guard isFit, !(try isExternal(list)) else {
            throw FerryError(
                .badExpression, "`\(expression)` reads a property list from \(operand.type.title).",
                remedy: "Name a Binary Data, Transformable or String attribute that is stored in the row.")
        }
        var keys: [Computation] = []
        switch key {
        case nil: break
        case .constant(.string(let path))?:
            keys = path.split(separator: ".").map { .parameter(.constant(.string(String($0)))) }
        default:
            throw FerryError(
                .badExpression, "`\(expression)` has keys that are no text.",
                remedy: "Write them in quotes, with dots between them: 'a.b'.")
        }
        return Typed(computation: .call("ferry_plist_value", [operand.computation] + keys), type: .dynamic)
    }
}
