internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// Replaces attributes of the middle version by the expressions that fill them.
struct Substitution {
    let mapping: ResolvedEntityMapping
    /// The models before and after the mapping.
    let source: ManagedObjectModel
    let middle: ManagedObjectModel
    let version: String

    /// The source attribute that fills an attribute of the middle version unchanged.
    func origin(of attribute: String) -> Attribute? {
        let rule = mapping.attributes.first { $0.name == attribute }
        return rule?.expression?.ownProperty.flatMap { source.attribute($0, of: mapping.source) }
    }

    // MARK: Attributes

    /// The rule, over source attributes, of an attribute that continues one of the middle version.
    ///
    /// - Throws: ``StepObstacle`` if the stored form in the middle version changes the value.
    func rule(for name: String, into destination: Attribute) throws(StepObstacle) -> ResolvedAttribute {
        guard let between = middle.attribute(name, of: mapping.destination),
            let rule = mapping.attributes.first(where: { $0.name == name })
        else { throw unknown(name) }
        let constant = rule.expression == nil ? rule.defaultValue(of: between) : nil
        guard rule.expression != nil || constant != nil else { return emptyRule(destination) }
        let passed = ResolvedAttribute(
            name: destination.name, expression: rule.expression, earlierDefault: constant)
        if between.isStored(like: destination) { return passed }
        if let origin = origin(of: name) {
            if origin.isStored(like: between) { return passed }
            let types = [origin.type, between.type, destination.type]
            guard Set([origin, between, destination].map(\.allowsExternalStorage)).count == 1,
                zip(types, types.dropFirst()).allSatisfy({ $0.isStoredUnchanged(as: $1) }),
                origin.type.isStoredUnchanged(as: destination.type)
            else { throw changed(name) }
            return passed
        }
        // An integer stays the same in every type that stores it unchanged.
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
            guard let (value, constant) = expression?.replacedNil, case .integer = constant,
                let origin = value.ownProperty.flatMap({ source.attribute($0, of: mapping.source) })
            else { return false }
            return origin.type.isInteger && !origin.allowsExternalStorage
        }
    }

    /// The rule of an attribute that is empty in the middle version.
    private func emptyRule(_ destination: Attribute) -> ResolvedAttribute {
        // Without a default value of its own the attribute stays empty anyway.
        let expression: Expression? = destination.defaultValue == nil ? nil : .constant(.null)
        return ResolvedAttribute(name: destination.name, expression: expression)
    }

    // MARK: Expressions

    func expression(_ expression: Expression) throws(StepObstacle) -> Expression {
        try substituted(expression.replacing)
    }

    func predicate(_ predicate: Predicate) throws(StepObstacle) -> Predicate {
        try substituted(predicate.replacing)
    }

    private func substituted<Whole>(
        _ replacing: ((Expression) -> Expression?) -> Whole
    ) throws(StepObstacle) -> Whole {
        var obstacle: StepObstacle?
        let whole = replacing { part in
            do throws(StepObstacle) {
                return try replacement(for: part)
            } catch {
                obstacle = obstacle ?? error
                return part
            }
        }
        if let obstacle { throw obstacle }
        return whole
    }

    /// Returns the replacement of a part, or nil to look at the part's own parts.
    private func replacement(for part: Expression) throws(StepObstacle) -> Expression? {
        switch part {
        case .constant, .function, .predefined: return nil
        case .keyPath(.variable("source"), let steps), .keyPath(.evaluatedObject, let steps):
            guard case .key(let name)? = steps.first, middle.relationship(name, of: mapping.destination) == nil else {
                throw beyond(part)
            }
            guard let between = middle.attribute(name, of: mapping.destination), between.type != .composite else {
                throw unknown(name)
            }
            guard let origin = origin(of: name), origin.isStored(like: between) else { throw changed(name) }
            return .keyPath(.variable("source"), [.key(origin.name)] + steps.dropFirst())
        default: throw beyond(part)
        }
    }

    private func unknown(_ name: String) -> StepObstacle {
        StepObstacle("\(mapping.destination).\(name) gets its values only in version \(version)")
    }

    func changed(_ name: String) -> StepObstacle {
        StepObstacle("version \(version) stores \(mapping.destination).\(name) in another form")
    }

    private func beyond(_ expression: Expression) -> StepObstacle {
        StepObstacle("`\(expression)` reads more than the object's own attributes in version \(version)")
    }
}

extension Attribute {
    /// Whether equal values of both have the same form.
    fileprivate func isStored(like other: Attribute) -> Bool {
        type == other.type && allowsExternalStorage == other.allowsExternalStorage
            && compositeName == other.compositeName
    }
}

extension Composition {
    func attributes(of pair: Pair) throws(StepObstacle) -> [ResolvedAttribute] {
        try checkDerivedAttributes(of: pair)
        let substitution = substitution(pair)
        var attributes: [ResolvedAttribute] = []
        for rule in pair.second.attributes {
            guard let attribute = destinationModel.attribute(rule.name, of: pair.second.destination) else {
                throw StepObstacle("\(pair.second.destination) has no attribute \(rule.name)")
            }
            attributes.append(try self.attribute(rule, attribute, substitution))
        }
        return attributes
    }

    private func attribute(
        _ rule: ResolvedAttribute, _ attribute: Attribute, _ substitution: Substitution
    ) throws(StepObstacle) -> ResolvedAttribute {
        guard let expression = rule.expression else { return rule }
        if let name = expression.ownProperty { return try substitution.rule(for: name, into: attribute) }
        if let (value, constant) = expression.replacedNil, let name = value.ownProperty {
            return Self.ifNil(try substitution.rule(for: name, into: attribute), constant, attribute)
        }
        return ResolvedAttribute(name: rule.name, expression: try substitution.expression(expression))
    }

    /// A value with a constant in place of nil, folded if the value is known.
    private static func ifNil(
        _ value: ResolvedAttribute, _ constant: Expression.Constant, _ attribute: Attribute
    ) -> ResolvedAttribute {
        if value.leavesEmpty(attribute) { return ResolvedAttribute(name: value.name, expression: .constant(constant)) }
        switch value.expression {
        case nil, .constant?: return value
        case let expression? where expression.replacesNil: return value
        case let expression?:
            return ResolvedAttribute(name: value.name, expression: .ifNil(expression, then: .constant(constant)))
        }
    }

    /// Refuses derived attributes that the middle version does not derive: their values would begin anew.
    private func checkDerivedAttributes(of pair: Pair) throws(StepObstacle) {
        for attribute in destinationModel.attributes(of: pair.second.destination) where attribute.isDerived {
            let isOld = sourceModel.attribute(attribute.name, of: pair.first.source)?.isDerived == true
            guard isOld, middleModel.attribute(attribute.name, of: pair.second.source)?.isDerived != true else {
                continue
            }
            throw StepObstacle(
                "\(pair.second.source).\(attribute.name) is not derived in version \(middle.name)")
        }
    }
}

extension Expression {
    /// The property of the source object that is the whole expression.
    var ownProperty: String? { fromSource.sourceKey }

    /// The parts of an expression that has a constant in place of nil.
    var replacedNil: (value: Expression, constant: Constant)? {
        guard case .ifNil(let value, .constant(let constant)) = self else { return nil }
        return (value, constant)
    }

    var replacesNil: Bool { replacedNil.map { $0.constant != .null } ?? false }
}
