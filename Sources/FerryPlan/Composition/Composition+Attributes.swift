internal import FerryExpression
internal import FerryMapping
internal import FerryModel

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
