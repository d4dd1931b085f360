internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// Puts what an entity mapping makes of an attribute into the place of that attribute.
struct Substitution {
    let mapping: ResolvedEntityMapping
    /// What the mapping leads from and to.
    let source: ManagedObjectModel
    let middle: ManagedObjectModel
    /// The name of the version that is passed, for messages.
    let version: String

    // MARK: Plain attributes

    /// The attribute of its own object that an expression is, and nothing else.
    static func ownAttribute(_ expression: Expression?) -> String? {
        guard case .keyPath(let base, let steps)? = expression, isObject(base), steps.count == 1,
            case .key(let name) = steps[0]
        else { return nil }
        return name
    }

    private static func isObject(_ base: Expression) -> Bool {
        base == .variable("source") || base == .evaluatedObject
    }

    /// The source attribute that fills an attribute of the version in between as it is.
    func origin(of attribute: String) -> Attribute? {
        let rule = mapping.attributes.first { $0.name == attribute }
        return Self.ownAttribute(rule?.expression).flatMap { source.attribute($0, of: mapping.source) }
    }

    // MARK: Attributes

    /// The rule for an attribute that takes over one of the version in between.
    ///
    /// - Parameters:
    ///   - name: The attribute in between.
    ///   - destination: The attribute that takes it over.
    /// - Returns: The rule, from the source's own attributes.
    /// - Throws: ``CompositionObstacle`` where the value is stored in between in a way that changes it.
    func rule(for name: String, into destination: Attribute) throws(CompositionObstacle) -> ResolvedAttribute {
        guard let between = middle.attribute(name, of: mapping.destination),
            let rule = mapping.attributes.first(where: { $0.name == name })
        else { throw unknown(name) }
        let constant = rule.expression == nil ? rule.defaultValue(of: between) : nil
        guard rule.expression != nil || constant != nil else { return nothing(destination) }
        let passed = ResolvedAttribute(
            name: destination.name, expression: rule.expression, earlierDefault: constant)
        if Storage(between) == Storage(destination) { return passed }
        if let origin = origin(of: name) {
            if Storage(origin) == Storage(between) { return passed }
            let types = [origin.type, between.type, destination.type]
            guard Set([origin, between, destination].map(\.allowsExternalStorage)).count == 1,
                zip(types, types.dropFirst()).allSatisfy({ $0.isStoredUnchanged(as: $1) }),
                origin.type.isStoredUnchanged(as: destination.type)
            else { throw changed(name) }
            return passed
        }
        // A whole number is the same in every type that takes it over as it is.
        let isInteger = (between.type.isInteger || between.type == .boolean) && destination.type.isInteger
        guard isInteger, !destination.allowsExternalStorage, between.type.isStoredUnchanged(as: destination.type),
            isIntegral(rule, constant)
        else {
            throw changed(name)
        }
        return passed
    }

    private func isIntegral(_ rule: ResolvedAttribute, _ constant: DefaultValue?) -> Bool {
        if case .integer? = constant { return true }
        switch rule.expression {
        case .constant(.integer)?, .constant(.null)?: return true
        case .predefined("ifnil:then:", let operands)?:
            guard operands.count == 2, case .constant(.integer) = operands[1],
                let name = Self.ownAttribute(operands[0]), let origin = source.attribute(name, of: mapping.source)
            else { return false }
            return origin.type.isInteger && !origin.allowsExternalStorage
        default: return false
        }
    }

    /// What an attribute is that was empty in between.
    private func nothing(_ destination: Attribute) -> ResolvedAttribute {
        // Without a default value of its own it is empty anyway.
        let expression: Expression? = destination.defaultValue == nil ? nil : .constant(.null)
        return ResolvedAttribute(name: destination.name, expression: expression)
    }

    /// Attributes with equal ones hold equal values in the same form.
    private struct Storage: Equatable {
        var type: AttributeType
        var isExternal: Bool
        var composite: String?

        init(_ attribute: Attribute) {
            type = attribute.type
            isExternal = attribute.allowsExternalStorage
            composite = attribute.compositeName
        }
    }

    // MARK: Expressions

    /// The expression in terms of the source's own attributes.
    func expression(_ expression: Expression) throws(CompositionObstacle) -> Expression {
        switch expression {
        case .constant: return expression
        case .keyPath(let base, let steps):
            guard Self.isObject(base), case .key(let name)? = steps.first else { throw beyond(expression) }
            guard middle.relationship(name, of: mapping.destination) == nil else { throw beyond(expression) }
            guard let between = middle.attribute(name, of: mapping.destination), between.type != .composite else {
                throw unknown(name)
            }
            guard let origin = origin(of: name), Storage(origin) == Storage(between) else { throw changed(name) }
            return .keyPath(.variable("source"), [.key(origin.name)] + steps.dropFirst())
        case .function(let receiver, let selector, let arguments):
            return .function(
                receiver: try self.expression(receiver), selector: selector, arguments: try expressions(arguments))
        case .predefined(let selector, let arguments):
            return .predefined(selector, try expressions(arguments))
        case .evaluatedObject, .variable, .json, .ternary, .list, .subquery, .fetch, .element: throw beyond(expression)
        }
    }

    private func expressions(_ operands: [Expression]) throws(CompositionObstacle) -> [Expression] {
        var substituted: [Expression] = []
        for operand in operands { substituted.append(try expression(operand)) }
        return substituted
    }

    func predicate(_ predicate: Predicate) throws(CompositionObstacle) -> Predicate {
        switch predicate {
        case .constant: return predicate
        case .comparison(var comparison):
            comparison.left = try expression(comparison.left)
            comparison.right = try expression(comparison.right)
            return .comparison(comparison)
        case .and(let parts): return .and(try predicates(parts))
        case .or(let parts): return .or(try predicates(parts))
        case .not(let part): return .not(try self.predicate(part))
        case .quantified(_, let collection, _): throw beyond(collection)
        }
    }

    private func predicates(_ parts: [Predicate]) throws(CompositionObstacle) -> [Predicate] {
        var substituted: [Predicate] = []
        for part in parts { substituted.append(try predicate(part)) }
        return substituted
    }

    // MARK: Obstacles

    private func unknown(_ name: String) -> CompositionObstacle {
        CompositionObstacle("\(mapping.destination).\(name) gets its values in version \(version) only")
    }

    func changed(_ name: String) -> CompositionObstacle {
        CompositionObstacle("version \(version) stores \(mapping.destination).\(name) in another form")
    }

    private func beyond(_ expression: Expression) -> CompositionObstacle {
        CompositionObstacle("`\(expression)` reads more of version \(version) than attributes of its own object")
    }
}

extension Composition {
    /// A value for every attribute that the second mapping gives one.
    func attributes(of pair: Pair) throws(CompositionObstacle) -> [ResolvedAttribute] {
        try checkDerivedAttributes(of: pair)
        let substitution = substitution(pair)
        var attributes: [ResolvedAttribute] = []
        for rule in pair.second.attributes {
            guard let attribute = destinationModel.attribute(rule.name, of: pair.second.destination) else {
                throw CompositionObstacle("\(pair.second.destination) has no attribute \(rule.name)")
            }
            attributes.append(try self.attribute(rule, attribute, substitution))
        }
        return attributes
    }

    private func attribute(
        _ rule: ResolvedAttribute, _ attribute: Attribute, _ substitution: Substitution
    ) throws(CompositionObstacle) -> ResolvedAttribute {
        guard let expression = rule.expression else { return rule }
        if let name = Substitution.ownAttribute(expression) { return try substitution.rule(for: name, into: attribute) }
        if case .predefined("ifnil:then:", let operands) = expression, operands.count == 2,
            case .constant(let constant) = operands[1], let name = Substitution.ownAttribute(operands[0])
        {
            return Self.ifNil(try substitution.rule(for: name, into: attribute), constant, attribute)
        }
        return ResolvedAttribute(name: rule.name, expression: try substitution.expression(expression))
    }

    /// A value with a constant in the place of nil, folded as far as the value says already what it is.
    private static func ifNil(
        _ value: ResolvedAttribute, _ constant: Expression.Constant, _ attribute: Attribute
    ) -> ResolvedAttribute {
        switch value.expression {
        case nil where value.defaultValue(of: attribute) != nil: return value
        case nil, .constant(.null)?:
            return ResolvedAttribute(name: value.name, expression: .constant(constant))
        case .constant?: return value
        case .predefined("ifnil:then:", let operands)? where operands.count == 2 && operands[1].isValue: return value
        case let expression?:
            return ResolvedAttribute(
                name: value.name, expression: .predefined("ifnil:then:", [expression, .constant(constant)]))
        }
    }

    /// Derived values are kept by name where both versions derive them; one that paused in between begins anew.
    private func checkDerivedAttributes(of pair: Pair) throws(CompositionObstacle) {
        for attribute in destinationModel.attributes(of: pair.second.destination) where attribute.isDerived {
            let isOld = sourceModel.attribute(attribute.name, of: pair.first.source)?.isDerived == true
            guard isOld, middleModel.attribute(attribute.name, of: pair.second.source)?.isDerived != true else {
                continue
            }
            throw CompositionObstacle(
                "\(pair.second.source).\(attribute.name) is not derived in version \(middle.name)")
        }
    }
}

extension Expression {
    /// Whether it is a constant other than nil.
    var isValue: Bool {
        if case .constant(let constant) = self { constant != .null } else { false }
    }
}
