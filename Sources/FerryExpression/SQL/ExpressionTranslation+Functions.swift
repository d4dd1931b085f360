internal import FerryBase
internal import FerryModel

/// Ferry's own functions, with the types of their arguments.
extension ExpressionTranslation {
    func typed(
        _ function: TypedFunction, _ arguments: [Expression], _ expression: Expression
    ) throws(FerryError) -> Typed {
        var operands = try operands(arguments, function.arguments, expression)
        if function.function == "ferry_date" || function.function == "ferry_date_text" {
            try DatePattern.check(arguments[1], arguments.dropFirst(2).first, expression)
            if operands.count == 2 { operands.append(.constant(.string("GMT"))) }
        }
        return call(function, operands)
    }

    private func call(_ function: TypedFunction, _ operands: [Computation]) -> Typed {
        Typed(function.function.map { .call($0, operands) } ?? operands[0], function.result)
    }

    private func operands(
        _ arguments: [Expression], _ kinds: [TypedFunction.Kind], _ expression: Expression
    ) throws(FerryError) -> [Computation] {
        var operands: [Computation] = []
        for (argument, wanted) in zip(arguments, kinds) {
            let operand = try value(argument)
            let isFit = operand.type.isUntyped || TypedFunction.Kind(operand.type) == wanted
            guard isFit || wanted == .text && operand.type.isText else {
                throw mismatch("\(wanted)", operand, expression).at(.expression(argument))
            }
            if wanted == .data, try isExternal(argument) { throw readsFile(expression) }
            operands.append(operand.computation)
        }
        return operands
    }

    func readsFile(_ expression: Expression) -> FerryError {
        expression.error(
            "reads data that may be stored outside the database.", .unsupported,
            remedy: "Compute the value in a migration policy.")
    }

    func isExternal(_ expression: Expression) throws(FerryError) -> Bool {
        guard case .attribute(let attribute, _)? = try path(expression)?.end else { return false }
        return attribute.allowsExternalStorage
    }

    /// Translates `JSON(text, 'a.b')`: the value under the keys, of any type.
    func json(_ text: Expression, _ key: String, _ expression: Expression) throws(FerryError) -> Typed {
        let text = try jsonText(text, expression, mayBeJSON: true)
        return Typed(.call("ferry_json_value", [text] + Self.keys(key)), .dynamic)
    }

    /// Returns the source of JSON: text, or bytes inside the row.
    func jsonText(
        _ text: Expression, _ expression: Expression, mayBeJSON: Bool
    ) throws(FerryError) -> Computation {
        let operand = try value(text)
        guard operand.type.mayBeText || operand.type == .attribute(.binary), mayBeJSON || operand.type != .dynamic,
            !(try isExternal(text))
        else {
            throw expression.error(
                "reads JSON from \(operand.type.title).",
                remedy: "Name a String attribute, or a Binary Data attribute that is stored in the row.")
        }
        return operand.computation
    }

    private static func keys(_ path: String) -> [Computation] {
        path.split(separator: ".").map { .constant(.string(String($0))) }
    }

    /// Returns a table's entry for a value; nil without an entry.
    func tableEntry(for key: Expression, in table: Expression, _ expression: Expression) throws(FerryError) -> Typed {
        guard case .constant(.string(let text)) = table, text.hasPrefix("{") else {
            throw expression.error(
                "names a table, which only mapping files support.",
                remedy: "Define it under \"tables\" in a JSON mapping file, and write its name in quotes.")
        }
        let operand = try value(key)
        var name = operand.computation
        switch operand.type {
        case .attribute(.string), .attribute(.uri), .null: break
        case .dynamic: name = .call("ferry_to_string", [name])
        case .attribute(let type) where type.isNumeric: name = .call("ferry_to_string", [name])
        default: throw mismatch("a text or a number", operand, expression)
        }
        return Typed(.call("ferry_json_get", [.constant(.string(text)), name]), .dynamic)
    }

    /// Translates `join:with:`: the values of a list with a text between them.
    func joined(_ list: Expression, _ separator: Expression, _ expression: Expression) throws(FerryError) -> Typed {
        guard case .list(let elements) = list else {
            throw FerryError(
                .badExpression, "`\(expression)`: only a list can be joined.",
                remedy: "Write the texts in braces: join:with:({a, b}, ' ').")
        }
        var operands: [Computation] = []
        for element in [separator] + elements {
            let operand = try value(element)
            guard operand.type.mayBeText else { throw mismatch("texts", operand, expression) }
            operands.append(operand.computation)
        }
        return Typed(.call("ferry_join", operands), .string)
    }
}

/// Random numbers, and values of property lists.
extension ExpressionTranslation {
    /// Translates `random()`, `random:(n)` and `randomn:(n)`; the last argument is the place in the mapping, if known.
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
            case nil: .constant(.null)
            case .object(let entity): .column(ResolvedPath(start: .element, end: .object(entity: entity)))
            case .json: .column(ResolvedPath(start: .element, end: .json(keys: [])))
            }
        let parts = [.parameter(.now), key, element, .constant(place)]
        guard let limit else { return Typed(.call("ferry_random", parts), .double) }
        let count = try number(limit, expression)
        guard count.type.isInteger || count.type.isUntyped else { throw mismatch("a whole number", count, expression) }
        return Typed(.call("ferry_random_below", parts + [count.computation]), .integer64)
    }

    /// Translates `plist:(data)` and `plist:key:(data, 'a.b')`: a value of a property list, of any type.
    func propertyList(
        _ list: Expression, _ key: Expression?, _ expression: Expression
    ) throws(FerryError) -> Typed {
        let operand = try value(list)
        let isData = operand.type == .attribute(.binary) || operand.type == .attribute(.transformable)
        guard isData || operand.type.mayBeText, !(try isExternal(list)) else {
            throw expression.error(
                "reads a property list from \(operand.type.title).",
                remedy: "Name a Binary Data, Transformable or String attribute that is stored in the row.")
        }
        var keys: [Computation] = []
        switch key {
        case nil: break
        case .constant(.string(let path))?: keys = Self.keys(path)
        default:
            throw expression.error(
                "has keys that are not text.", remedy: "Write them in quotes, with dots between them: 'a.b'.")
        }
        return Typed(.call("ferry_plist_value", [operand.computation] + keys), .dynamic)
    }
}

/// Methods of values, ternaries and lists.
extension ExpressionTranslation {
    func method(
        _ selector: String, of receiver: Typed, _ arguments: [Expression], _ expression: Expression
    ) throws(FerryError) -> Typed {
        let known = TypedFunction.methods.filter { $0.selector == selector && $0.arguments.count == arguments.count }
        // A value of JSON is assumed to be of the method's kind; another value fails its row.
        let kind = receiver.type.isUntyped ? known.first?.receivers.first : TypedFunction.Kind(receiver.type)
        guard let kind, let method = known.first(where: { $0.receivers.contains(kind) }) else {
            let offered = TypedFunction.methods.filter { method in kind.map { method.receivers.contains($0) } ?? false }
            throw expression.error(
                "calls \(selector) on \(receiver.type.title), which Ferry does not support.",
                known.isEmpty && !arguments.isEmpty ? .unsupported : .badExpression,
                remedy: offered.isEmpty
                    ? "Compute the value in a migration policy, or by a predefined function."
                    : "Such a value has \(Set(offered.map(\.selector)).sorted().joined(separator: ", ")).")
        }
        return call(method, [receiver.computation] + (try operands(arguments, method.arguments, expression)))
    }

    /// Translates keys behind a collection or a value.
    func keyed(_ base: Expression, _ steps: [KeyPathStep], _ expression: Expression) throws(FerryError) -> Typed {
        if let members = try members(of: base) { return try aggregate(members, steps, expression) }
        if case .element(let list, let index) = base, index != .size, let members = try members(of: list),
            members.value == nil
        {
            return try element(index, of: members, steps, expression)
        }
        if steps.count == 1, case .collectionOperator(let name) = steps[0], AggregateFunction.operators.contains(name),
            try listElements(base) != nil
        {
            return try aggregate(name == "avg" ? "average:" : "\(name):", of: base, expression)
        }
        if let parts = try textParts(base), let step = steps.first {
            let typed: Typed
            switch step {
            case .collectionOperator("count"), .key("count"): typed = part(.size, of: parts)
            case .key("firstObject"): typed = part(.first, of: parts)
            case .key("lastObject"): typed = part(.last, of: parts)
            default:
                throw expression.error(
                    "applies \(step) to a list of strings.",
                    remedy: "Such a list has @count, firstObject and lastObject, and [index].")
            }
            return try methods(steps.dropFirst(), of: typed, expression)
        }
        return try methods(steps[...], of: try value(base), expression)
    }

    private func methods(
        _ steps: ArraySlice<KeyPathStep>, of receiver: Typed, _ expression: Expression
    ) throws(FerryError) -> Typed {
        var typed = receiver
        for step in steps {
            guard case .key(let key) = step else {
                throw expression.error(
                    "applies \(step) to a single value.",
                    remedy: "Collection operators follow a to-many relationship or SUBQUERY.")
            }
            typed = try method(key, of: typed, [], expression)
        }
        return typed
    }

    // MARK: Lists

    /// Returns the parts of a text for `FUNCTION(text, 'componentsSeparatedByString:', separator)`; nil otherwise.
    func textParts(_ expression: Expression) throws(FerryError) -> (text: Computation, separator: Computation)? {
        guard case .function(let receiver, "componentsSeparatedByString:", let arguments) = expression,
            arguments.count == 1
        else { return nil }
        let operands = [try value(receiver), try value(arguments[0])]
        for operand in operands where !operand.type.mayBeText { throw mismatch("text", operand, expression) }
        return (operands[0].computation, operands[1].computation)
    }

    func element(
        _ index: ElementIndex, of list: Expression, _ expression: Expression
    ) throws(FerryError) -> Typed {
        if let parts = try textParts(list) { return part(index, of: parts) }
        if case .predefined("mode:", let operands) = list, operands.count == 1, index == .first || index == .at(0) {
            // `mode:` yields the most frequent values; Ferry computes the first one only.
            return try value(list)
        }
        if let members = try members(of: list) { return try element(index, of: members, [], expression) }
        guard case .list(let elements) = list else {
            throw expression.error(
                "uses an index on something that is not a list.",
                remedy: "Use it on a to-many relationship, a {list} or the parts of a text.")
        }
        guard var place = index.place.map({ Int(clamping: $0) }) else {
            return Typed(.constant(.integer(Int64(elements.count))), .integer64)
        }
        if place < 0 { place += elements.count }
        guard elements.indices.contains(place) else {
            throw expression.error("has no such element.", remedy: "The first one is 0.")
        }
        return try value(elements[place])
    }

    private func part(_ index: ElementIndex, of parts: (text: Computation, separator: Computation)) -> Typed {
        guard let place = index.place else {
            return Typed(.call("ferry_part_count", [parts.text, parts.separator]), .integer64)
        }
        return Typed(.call("ferry_part", [parts.text, parts.separator, .constant(.integer(place))]), .string)
    }

    // MARK: Choices

    /// Returns two values in one type, of which each row gets one.
    func withCommonType(
        _ value: Expression, _ other: Expression, _ expression: Expression
    ) throws(FerryError) -> ([Computation], ValueType) {
        var typed = [try self.value(value), try self.value(other)]
        let types = Set(typed.map(\.type)).subtracting([.null])
        var type = types.first ?? .null
        if types.count == 2 {
            if types.allSatisfy({ $0.isText }) {
                type = .attribute(.string)
            } else {
                typed = [try number(value, expression), try number(other, expression)]
                // A whole number in the place of a fraction would be divided as a whole number.
                let isWhole = typed[0].type.isInteger
                guard isWhole == typed[1].type.isInteger else {
                    throw mismatch(typed[0].type.title, typed[1], expression)
                }
                type = types.contains(.dynamic) ? .dynamic : .attribute(isWhole ? .integer64 : .double)
            }
        }
        return (typed.map(\.computation), type)
    }
}
