internal import FerryBase
internal import FerryExpression
internal import FerryModel

extension StepResolver {
    /// A value for every stored attribute of the destination entity that the store does not compute, in name order.
    mutating func attributes(of mapping: LiveMapping) -> [ResolvedAttribute] {
        let all = destination.model.attributes(of: mapping.destination)
        reportUnknownProperties(
            "attribute", mapping.mapping.attributes.mapValues { $0 != .automatic }, known: Set(all.map(\.name)), mapping
        )
        var resolved: [ResolvedAttribute] = []
        for attribute in all {
            let rule = mapping.mapping.attributes[attribute.name]
            guard !attribute.isTransient, !destination.model.isComputedByStore(attribute, of: mapping.destination)
            else {
                if case .value = rule {
                    let reason = attribute.isTransient ? "is transient and not stored" : "is derived"
                    report(
                        .badMapping, "it sets the attribute \"\(attribute.name)\", which \(reason).",
                        mapping,
                        property: attribute.name, remedy: "Remove the expression.")
                }
                continue
            }
            for leaf in destination.model.leaves(of: attribute) {
                let rule = leaf.name == attribute.name ? rule : self.rule(for: leaf.name, in: mapping)
                resolved.append(
                    ResolvedAttribute(name: leaf.name, expression: expression(for: leaf, rule: rule, in: mapping)))
            }
        }
        return resolved
    }

    /// The rule of a composite's element: its own, else its part of the composite's rule.
    private mutating func rule(for leaf: String, in mapping: LiveMapping) -> AttributeRule? {
        let rules = mapping.mapping.attributes
        if let own = rules[leaf] { return own }
        var names = leaf.split(separator: ".").map(String.init)
        var elements: [KeyPathStep] = []
        while let element = names.popLast(), !names.isEmpty {
            elements.insert(.key(element), at: 0)
            let composite = names.joined(separator: ".")
            guard let rule = rules[composite] else { continue }
            guard case .value(let expression) = rule, expression != .constant(.null) else { return rule }
            guard case .keyPath(let base, let steps) = expression else {
                report(
                    .badMapping, "the composite attribute \"\(composite)\" is set to a single value.", mapping,
                    property: composite,
                    remedy: "Set it from another composite, or set its elements (\"\(leaf)\").")
                return .empty
            }
            return .value(.keyPath(base, steps + elements))
        }
        return nil
    }

    private mutating func expression(
        for attribute: Attribute, rule: AttributeRule?, in mapping: LiveMapping
    ) -> Expression? {
        switch rule ?? (mapping.mapping.isAutomatic ? .automatic : .empty) {
        case .empty: return nil
        case .automatic: return automaticExpression(for: attribute, in: mapping)
        case .value(let given):
            let expression = given.binding(Self.names(of: mapping, attribute))
                .drawing(at: "\(mapping.name).\(attribute.name)")
            check(expression, for: attribute, in: mapping)
            return expression.fromSource
        }
    }

    /// The values of `$entityMapping` and `$propertyMapping`.
    private static func names(
        of mapping: LiveMapping, _ attribute: Attribute
    ) -> [String: [String: Expression.Constant]] {
        var keys: [String: Expression.Constant] = [
            "name": .string(mapping.mapping.name), "sourceEntityName": .string(mapping.source),
            "destinationEntityName": .string(mapping.destination),
        ]
        for (key, value) in mapping.mapping.userInfo { keys["userInfo.\(key)"] = .string(value) }
        return ["entityMapping": keys, "propertyMapping": ["name": .string(attribute.name)]]
    }

    /// Replaces what `onInvalid` says by expressions: a value or nil, or a condition of the filter.
    func settleInvalidValues(
        of mapping: LiveMapping, in attributes: inout [ResolvedAttribute], _ filter: inout Predicate?
    ) {
        var conditions = filter.map { [$0] } ?? []
        for (index, rule) in attributes.enumerated() {
            guard let onInvalid = mapping.mapping.onInvalid[rule.name], onInvalid != .fail,
                let expression = rule.expression,
                let attribute = destination.model.attribute(rule.name, of: mapping.destination),
                mayFail(expression, for: attribute, in: mapping)
            else { continue }
            if onInvalid == .null {
                attributes[index].expression = .storing(expression, in: attribute, Expression.validSelector)
            } else {
                let isInvalid = Expression.storing(expression, in: attribute, Expression.isInvalidSelector)
                conditions.append(
                    .comparison(.init(left: isInvalid, comparator: .equal, right: .constant(.boolean(false)))))
            }
        }
        filter = conditions.count > 1 ? .and(conditions) : conditions.first
    }

    private func mayFail(_ expression: Expression, for attribute: Attribute, in mapping: LiveMapping) -> Bool {
        do throws(FerryError) {
            return try ExpressionTranslation(scope: mapping.scope).value(expression, for: attribute).mayFail
        } catch {
            // The check of the expression has reported this.
            return false
        }
    }

    private mutating func automaticExpression(for attribute: Attribute, in mapping: LiveMapping) -> Expression? {
        guard let sourceAttribute = source.model.attribute(attribute.name, of: mapping.source),
            !sourceAttribute.isTransient
        else { return nil }
        guard sourceAttribute.type.converts(to: attribute.type) else {
            // A value that needs a conversion is usually the reason for a policy.
            if mapping.policy != nil { return nil }
            report(
                .badMapping,
                "\(mapping.source).\(attribute.name) is of type \(sourceAttribute.type), but "
                    + "\(mapping.destination).\(attribute.name) is of type \(attribute.type).",
                mapping, property: attribute.name,
                remedy: "Give \(attribute.name) an expression that converts it, or null.")
            return nil
        }
        let path = Expression(sourceKeys: attribute.name)
        // The types fit, but external storage may differ.
        if sourceAttribute.allowsExternalStorage != attribute.allowsExternalStorage {
            check(path, for: attribute, in: mapping)
        }
        return path
    }

    /// Reports properties that the destination lacks: a warning for an automatic one, an error for one that is set.
    mutating func reportUnknownProperties(
        _ kind: String, _ properties: [String: Bool], known: Set<String>, _ mapping: LiveMapping
    ) {
        let model = destination.model
        for (name, isSet) in properties.inOrder(by: { $0.key < $1.key }) where !known.contains(name) {
            let isAttribute = model.attribute(name, of: mapping.destination) != nil
            let isRelationship = model.relationship(name, of: mapping.destination) != nil
            let found = isAttribute ? "attribute" : isRelationship ? "relationship" : nil
            // An element of a composite counts as an attribute, too.
            if found == kind { continue }
            if let found {
                report(
                    .badMapping,
                    "\(mapping.destination).\(name) is \(isAttribute ? "an" : "a") \(found), not "
                        + "\(isAttribute ? "a" : "an") \(kind).", mapping, property: name,
                    remedy: "Map it under \(found)s.")
            } else {
                reportUnknownProperty(kind, name, isSet: isSet, known: known, in: mapping)
            }
        }
    }

    private mutating func reportUnknownProperty(
        _ kind: String, _ name: String, isSet: Bool, known: Set<String>, in mapping: LiveMapping
    ) {
        let message =
            "\(mapping.destination) has no \(kind) \"\(name)\"" + NearNames.clause(for: name, among: known)
        guard isSet else {
            let path = mappingModels[mapping.model].path
            warnings.append(
                FerryWarning(
                    .unknownProperty,
                    "\(fileName(of: path)): entity mapping \"\(mapping.mapping.name)\": \(message)",
                    about: .init(
                        entity: mapping.destination, property: name, entityMapping: mapping.mapping.name, path: path)))
            return
        }
        report(
            .badMapping, message, mapping, property: name,
            remedy: "Correct the name to a property of \(destination.name).")
    }

    mutating func unique(of mapping: LiveMapping) -> [String] {
        let known = destination.model.leaves(of: mapping.destination).filter { !$0.isTransient && !$0.isDerived }
            .map(\.name)
        for name in mapping.mapping.unique where !known.contains(name) {
            report(
                .badMapping,
                "unique: \(mapping.destination) has no stored attribute \"\(name)\""
                    + NearNames.clause(for: name, among: known),
                mapping, property: name, remedy: "Name attributes whose values identify the objects.")
        }
        for name in mapping.mapping.unique
        where destination.model.attribute(name, of: mapping.destination)?.allowsExternalStorage == true {
            report(
                .unsupported,
                "unique: \(mapping.destination).\(name) may be stored outside the database, where equal values are not "
                    + "found.",
                mapping, property: name, remedy: "Name attributes that are stored in the row.")
        }
        return mapping.mapping.unique
    }

    /// Whether nil equals nil in `unique`: in Core Data's uniqueness constraints it does not.
    ///
    /// A mapping that finds or creates objects of another entity by a name has one object without a name.
    func nilIsEqual(in mapping: LiveMapping) -> Bool {
        if let given = mapping.mapping.nilIsEqual { return given }
        let names = Set(mapping.mapping.unique)
        let isConstraint = destination.model.lineage(of: mapping.destination).contains { entity in
            entity.uniquenessConstraints.contains { Set($0) == names }
        }
        return !isConstraint || !carriesObjects(mapping)
    }

    /// Whether a mapping carries the objects of its source entity, instead of making objects of other ones beside them.
    private func carriesObjects(_ mapping: LiveMapping) -> Bool {
        guard mapping.mapping.iteration == nil else { return false }
        if ModelMatching(source: source.model, destination: destination.model)
            .sourceEntities[mapping.destination] == mapping.source
        {
            return true
        }
        return live.allSatisfy { $0.mapping.name == mapping.mapping.name || $0.source != mapping.source }
    }
}

extension AttributeType {
    /// Whether Core Data carries a value from one type to the other without an expression.
    func converts(to other: AttributeType) -> Bool { self == other || isNumeric && other.isNumeric }
}
