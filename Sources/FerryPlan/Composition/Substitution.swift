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

    /// The source attribute that fills an attribute of the version in between as it is.
    func origin(of attribute: String) -> Attribute? {
        let rule = mapping.attributes.first { $0.name == attribute }
        return rule?.expression?.ownProperty.flatMap { source.attribute($0, of: mapping.source) }
    }

    // MARK: Attributes

    /// The rule, from the source's own attributes, for an attribute that takes over one of the version in between.
    ///
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
        case let expression:
            guard let (value, constant) = expression?.ifNil, case .integer = constant,
                let origin = value.ownProperty.flatMap({ source.attribute($0, of: mapping.source) })
            else { return false }
            return origin.type.isInteger && !origin.allowsExternalStorage
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
        try substituted(expression.replacing)
    }

    func predicate(_ predicate: Predicate) throws(CompositionObstacle) -> Predicate {
        try substituted(predicate.replacing)
    }

    private func substituted<Whole>(
        _ replacing: ((Expression) -> Expression?) -> Whole
    ) throws(CompositionObstacle) -> Whole {
        var obstacle: CompositionObstacle?
        let whole = replacing { part in
            do throws(CompositionObstacle) {
                return try replacement(for: part)
            } catch {
                obstacle = obstacle ?? error
                return part
            }
        }
        if let obstacle { throw obstacle }
        return whole
    }

    /// What takes the place of a part; nil where its own parts are to be looked at.
    private func replacement(for part: Expression) throws(CompositionObstacle) -> Expression? {
        switch part {
        case .constant, .function, .predefined: return nil
        case .keyPath(.variable("source"), let steps), .keyPath(.evaluatedObject, let steps):
            guard case .key(let name)? = steps.first, middle.relationship(name, of: mapping.destination) == nil else {
                throw beyond(part)
            }
            guard let between = middle.attribute(name, of: mapping.destination), between.type != .composite else {
                throw unknown(name)
            }
            guard let origin = origin(of: name), Storage(origin) == Storage(between) else { throw changed(name) }
            return .keyPath(.variable("source"), [.key(origin.name)] + steps.dropFirst())
        default: throw beyond(part)
        }
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
        if let name = expression.ownProperty { return try substitution.rule(for: name, into: attribute) }
        if let (value, constant) = expression.ifNil, let name = value.ownProperty {
            return Self.ifNil(try substitution.rule(for: name, into: attribute), constant, attribute)
        }
        return ResolvedAttribute(name: rule.name, expression: try substitution.expression(expression))
    }

    /// A value with a constant in the place of nil, folded as far as the value says already what it is.
    private static func ifNil(
        _ value: ResolvedAttribute, _ constant: Expression.Constant, _ attribute: Attribute
    ) -> ResolvedAttribute {
        if value.leavesEmpty(attribute) { return ResolvedAttribute(name: value.name, expression: .constant(constant)) }
        switch value.expression {
        case nil, .constant?: return value
        case let expression? where expression.replacesNil: return value
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
    /// The property of its own object that the expression is, and nothing else.
    var ownProperty: String? { fromSource.sourceKey }

    /// What an expression is made of that has a constant in the place of nil.
    var ifNil: (value: Expression, constant: Constant)? {
        guard case .predefined("ifnil:then:", let operands) = self, operands.count == 2,
            case .constant(let constant) = operands[1]
        else { return nil }
        return (operands[0], constant)
    }

    /// Whether a value stands in the place of nil.
    var replacesNil: Bool { ifNil.map { $0.constant != .null } ?? false }
}
