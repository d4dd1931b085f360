package import FerryBase
package import FerryModel

/// Translates expressions and predicates to computations on columns and parameters, with types from the model.
package struct ExpressionTranslation {
    package var scope: ExpressionScope
    /// The member in a quantified predicate.
    var member: Typed?

    package init(scope: ExpressionScope) { self.scope = scope }

    package struct Typed {
        package var computation: Computation
        package var type: ValueType

        init(_ computation: Computation, _ type: ValueType) {
            self.computation = computation
            self.type = type
        }

        init(_ computation: Computation, _ type: AttributeType) { self.init(computation, .attribute(type)) }
    }

    /// Translates an expression to the storage of a destination attribute.
    ///
    /// - Throws: ``FerryError`` `.badExpression` if the expression is wrong for the models or for the attribute's type;
    ///   `.missingPolicy` or `.unsupported` if only code could evaluate it.
    package func value(_ expression: Expression, for attribute: Attribute) throws(FerryError) -> Computation {
        try about(.expression(expression)) { () throws(FerryError) in try stored(expression, for: attribute) }
    }

    private func stored(_ expression: Expression, for attribute: Attribute) throws(FerryError) -> Computation {
        // A hint for the fetch, without an effect on the value.
        if case .predefined("noindex:", let operands) = expression, operands.count == 1 {
            return try value(operands[0], for: attribute)
        }
        if case .constant(let constant) = expression {
            let converted = Computation.constant(try Conversion.convert(constant, to: attribute))
            // A constant cannot hold the UUID's bytes; the conversion has checked its text.
            return attribute.type == .uuid && constant != .null ? .call("ferry_to_uuid", [converted]) : converted
        }
        if case .ifNil(let first, let substitute) = expression {
            return .operation(.ifNull, [try value(first, for: attribute), try value(substitute, for: attribute)])
        }
        if case .ternary(let condition, let first, let second) = expression {
            return .operation(
                .choose,
                [try self.condition(condition), try value(first, for: attribute), try value(second, for: attribute)])
        }
        if let (operand, stored) = expression.storedValue, stored.type == attribute.type,
            case .predefined(Expression.validSelector, _) = expression
        {
            return .operation(.orNil, [try value(operand, for: attribute)])
        }
        if let call = try policyCall(expression) { return call }
        var storageChange: String?
        if let path = try path(expression) {
            storageChange = Self.storageChange(of: path, to: attribute)
        } else if attribute.allowsExternalStorage {
            throw expression.error(
                "is computed, and \(attribute.name) is stored outside the database.", .unsupported,
                remedy: "Only the value of an attribute that is also stored outside can be copied to it.")
        }
        let fragment = try value(expression)
        switch Conversion(from: fragment.type, to: attribute.type) {
        case .unchanged: return storageChange.map { .call($0, [fragment.computation]) } ?? fragment.computation
        case .function(let name): return .call(name, [fragment.computation])
        case .none(let reason):
            throw FerryError(
                .badExpression,
                "`\(expression)` yields \(fragment.type.title), and \(attribute.name) is \(attribute.type.sourceName): \(reason).",
                place: FerryError.Place(property: attribute.name))
        }
    }

    /// Translates an expression in its own type.
    package func value(_ expression: Expression) throws(FerryError) -> Typed {
        try about(.expression(expression)) { () throws(FerryError) in try typed(expression) }
    }

    private func typed(_ expression: Expression) throws(FerryError) -> Typed {
        if let call = try policyCall(expression) { return Typed(call, .dynamic) }
        switch expression {
        case .constant(let constant): return Typed(.constant(constant), constant.type)
        case .variable(scope.iteration?.position)
        where !scope.members.contains { .variable($0.variable ?? "") == expression }:
            return Typed(.elementPosition, .integer64)
        case .evaluatedObject, .variable:
            if expression == .member, let member { return member }
            return try column(try scope.resolve(expression), expression)
        case .keyPath(let base, let steps):
            guard base.isObject else { return try keyed(base, steps, expression) }
            if let total = try aggregate(base, steps, expression) { return total }
            return try column(try scope.resolve(base, steps), expression)
        case .ternary(let condition, let value, let other):
            let (either, type) = try withCommonType(value, other, expression)
            return Typed(.operation(.choose, [try self.condition(condition)] + either), type)
        case .ifNil(let value, let substitute):
            let (either, type) = try withCommonType(value, substitute, expression)
            return Typed(.operation(.ifNull, either), type)
        case .element(let list, let index): return try element(index, of: list, expression)
        case .list, .subquery, .fetch: throw isCollection(expression)
        case .predefined(let selector, let arguments): return try predefined(selector, arguments, expression)
        case .function(let receiver, let selector, let arguments):
            return try call(receiver, selector, arguments, expression)
        case .json(let text, let key): return try json(text, key, expression)
        }
    }

    // MARK: Paths

    /// Returns the path of keys from an object; nil for any other expression, and behind an operator such as `@count`.
    func path(_ expression: Expression) throws(FerryError) -> ResolvedPath? {
        guard case .keyPath(let base, let steps) = expression, base.isObject, !steps.contains(where: \.isAggregate)
        else { return nil }
        return try scope.resolve(base, steps)
    }

    func column(_ path: ResolvedPath, _ expression: Expression) throws(FerryError) -> Typed {
        if path.isToMany {
            throw isCollection(
                expression,
                remedy: Remedy(
                    "Follow to-one relationships only, reduce it to one value as in `.@count`, or iterate with `forEach`."
                ))
        }
        switch path.end {
        case .object(let entity): return Typed(.column(path), .object(entity: entity))
        case .json(let keys) where keys.isEmpty: return Typed(.column(path), .dynamic)
        case .json(let keys):
            return Typed(.call("ferry_json_get", [.elementText] + keys.map { .constant(.string($0)) }), .dynamic)
        case .attribute(let attribute, _):
            if attribute.type == .composite {
                throw expression.error("yields a composite, not a value.", remedy: "Name one of its elements.")
            }
            if attribute.allowsExternalStorage, !path.valueKeys.isEmpty { throw readsFile(expression) }
            var sourcePath = path
            sourcePath.valueKeys = []
            var fragment = Typed(.column(sourcePath), attribute.type)
            for key in path.valueKeys { fragment = try method(key, of: fragment, [], expression) }
            return fragment
        }
    }

    /// Returns the function for a change of external storage, in which the first byte tells the place of contents.
    private static func storageChange(of path: ResolvedPath, to attribute: Attribute) -> String? {
        guard case .attribute(let source, _) = path.end, source.allowsExternalStorage != attribute.allowsExternalStorage
        else { return nil }
        return attribute.allowsExternalStorage ? ScalarFunction.toExternalName : ScalarFunction.fromExternalName
    }

    // MARK: Functions

    private func predefined(
        _ selector: String, _ arguments: [Expression], _ expression: Expression
    ) throws(FerryError) -> Typed {
        switch (selector, arguments.count) {
        case ("now", 0): return Typed(.parameter(.now), .date)
        case ("noindex:", 1): return try value(arguments[0])
        case ("castObject:toType:", 2): return try cast(arguments[0], arguments[1], expression)
        case (Expression.validSelector, 3), (Expression.isInvalidSelector, 3):
            guard let (operand, attribute) = expression.storedValue else { break }
            let computation = try value(operand, for: attribute)
            return selector == Expression.validSelector
                ? Typed(.operation(.orNil, [computation]), attribute.type)
                : Typed(.operation(.fails, [computation]), .boolean)
        case (Expression.tableSelector, 2): return try tableEntry(for: arguments[1], in: arguments[0], expression)
        case ("join:with:", 2): return try joined(arguments[0], arguments[1], expression)
        case ("random", 0...1), ("random:", 1...2), ("randomn:", 1...2):
            return try drawn(arguments, selector, expression)
        case ("plist:", 1): return try propertyList(arguments[0], nil, expression)
        case ("plist:key:", 2): return try propertyList(arguments[0], arguments[1], expression)
        case ("count:", 1), ("sum:", 1), ("average:", 1), ("min:", 1), ("max:", 1), ("median:", 1), ("mode:", 1),
            ("stddev:", 1):
            return try aggregate(selector, of: arguments[0], expression)
        case _ where SetOperator(rawValue: selector) != nil: throw isCollection(expression)
        default: break
        }
        if let reason = PredefinedFunction.refused[selector] {
            throw expression.error("\(reason).", .unsupported, remedy: "Compute the value in a migration policy.")
        }
        if let typed = TypedFunction.all[selector], typed.arguments.count == arguments.count {
            return try self.typed(typed, arguments, expression)
        }
        guard let known = PredefinedFunction.all[selector], known.argumentCount == arguments.count,
            let function = known.function
        else {
            throw expression.error(
                "uses the function \(selector), which Ferry does not support.", .unsupported,
                remedy: "Compute the value in a migration policy.")
        }
        var operands: [Typed] = []
        for argument in arguments { operands.append(try number(argument, expression)) }
        if known.result == .integer64, let fraction = operands.first(where: { $0.type.isReal }) {
            throw mismatch("whole numbers", fraction, expression)
        }
        if let symbol = Self.realOperators[selector], operands.allSatisfy({ $0.type.isReal }) {
            return Typed(.operation(symbol, operands.map(\.computation)), .double)
        }
        let call = Computation.call(function, operands.map(\.computation))
        return known.result.map { Typed(call, $0) } ?? Typed(call, Self.resultType(operands.map(\.type)))
    }

    private static let realOperators: [String: Computation.Operator] = [
        "add:to:": .plus, "from:subtract:": .minus, "multiply:by:": .times,
    ]

    /// Returns the type of a function that keeps whole numbers.
    private static func resultType(_ operands: [ValueType]) -> ValueType {
        if operands.contains(.null) { return .null }
        if operands.contains(.dynamic) { return operands.contains { $0.isReal } ? .attribute(.double) : .dynamic }
        return .attribute(operands.allSatisfy { $0.isInteger } ? .integer64 : .double)
    }

    func isCollection(
        _ expression: Expression, remedy: Remedy = "Reduce it to one value, as in `.@count`, or use ANY."
    ) -> FerryError {
        expression.error("yields a collection, not one value.", remedy: remedy)
    }

    /// Translates an operand of arithmetic: a number whose type decides its storage class.
    func number(_ argument: Expression, _ expression: Expression) throws(FerryError) -> Typed {
        try about(.expression(argument)) { () throws(FerryError) in try number(try value(argument), expression) }
    }

    func number(_ operand: Typed, _ expression: Expression) throws(FerryError) -> Typed {
        switch operand.type {
        case .null, .dynamic: return operand
        case let type where type.isInteger || type.isReal: return operand
        case .attribute(.decimal), .attribute(.date):
            // Columns of these types hold whole values as integers.
            return Typed(.call("ferry_to_double", [operand.computation]), .double)
        case .attribute, .object: throw mismatch("a number", operand, expression)
        }
    }

    func mismatch(_ wanted: String, _ operand: Typed, _ expression: Expression) -> FerryError {
        expression.error(
            "needs \(wanted), but has \(operand.type.title).",
            remedy: "Check the attribute's type in the source model.")
    }

    private func cast(
        _ operand: Expression, _ type: Expression, _ expression: Expression
    ) throws(FerryError) -> Typed {
        guard case .constant(.string(let name)) = type, let target = Self.castTypes[name] else {
            throw expression.error(
                "casts to an unknown type.",
                remedy: "Types are \(Self.castTypes.keys.sorted().joined(separator: ", ")).")
        }
        let fragment = try value(operand)
        if name == "NSNumber", case .attribute(let source) = fragment.type, source.isNumeric { return fragment }
        switch Conversion(from: fragment.type, to: target) {
        case .unchanged: return Typed(fragment.computation, target)
        case .function(let function): return Typed(.call(function, [fragment.computation]), target)
        case .none(let reason):
            throw expression.error("casts \(fragment.type.title) to \(target.sourceName): \(reason).")
        }
    }

    private static var castTypes: [String: AttributeType] {
        ["NSDate": .date, "NSNumber": .double, "NSDecimalNumber": .decimal, "NSString": .string, "NSUUID": .uuid]
    }

    /// Translates `FUNCTION($entityPolicy, 'selector:', …)` and `$entityPolicy.key`, whose type is unknown.
    private func policyCall(_ expression: Expression) throws(FerryError) -> Computation? {
        let (name, arguments): (String, [Expression])
        switch expression {
        case .function(.variable("entityPolicy"), let selector, let given): (name, arguments) = (selector, given)
        case .keyPath(.variable("entityPolicy"), let steps):
            guard steps.count == 1, case .key(let key) = steps[0] else { return nil }
            (name, arguments) = (key, [])
        default: return nil
        }
        guard let functions = scope.policyFunctions else {
            throw expression.error(
                "calls \(name) of the migration policy, which is code outside the mapping model.", .missingPolicy,
                remedy: "Give the attribute its own expression in a mapping file, or register the policy.")
        }
        guard functions.contains(name) else {
            throw expression.error(
                "calls \(name), which the registered migration policy does not offer.", .missingPolicy,
                remedy: "Add it to the policy's functions. \(NearNames.remedy(for: name, among: Array(functions)))")
        }
        return .policy(name, try arguments.map { argument throws(FerryError) in try value(argument).computation })
    }

    private func call(
        _ receiver: Expression, _ selector: String, _ arguments: [Expression], _ expression: Expression
    ) throws(FerryError) -> Typed {
        if selector == "valueForKey:" || selector == "valueForKeyPath:", arguments.count == 1,
            case .constant(.string(let path)) = arguments[0], !path.contains("@")
        {
            return try value(.keyPath(receiver, path.split(separator: ".").map { .key(String($0)) }))
        }
        if selector == "count", let members = try members(of: receiver) { return count(members) }
        if case .variable(let name) = receiver,
            ["manager", "destination", "entityMapping", "propertyMapping"].contains(name)
        {
            throw expression.error(
                "calls \(selector) of $\(name), which does not yield an attribute value.", .unsupported,
                remedy: "Compute the value in a migration policy, or by a predefined function.")
        }
        if try isExternal(receiver) { throw readsFile(expression) }
        return try method(selector, of: try value(receiver), arguments, expression)
    }
}

extension Expression {
    /// Whether the model resolves keys behind the expression.
    var isObject: Bool {
        switch self {
        case .evaluatedObject: true
        case .variable(let name): name != ""
        default: false
        }
    }
}
