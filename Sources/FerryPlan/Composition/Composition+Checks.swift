internal import FerryExpression
internal import FerryMapping
internal import FerryModel

// What each of the two steps asks of rows, asked of the rows of the store that there is.
extension Composition {
    func addChecks(to step: inout StepPlan) throws(CompositionObstacle) {
        step.needsRowCheck = first.needsRowCheck + valuesWithoutSource(in: step.resolved)
        step.needsEmptySource = first.needsEmptySource
        for check in second.needsEmptySource { step.needsEmptySource += try emptyChecks(for: check) }
        step.needsUniqueValues = first.needsUniqueValues
        for check in second.needsUniqueValues {
            if let check = try uniquenessCheck(for: check), !step.needsUniqueValues.contains(check) {
                step.needsUniqueValues.append(check)
            }
        }
        try checkUniqueness()
        step.needsValues = first.needsValues
        for check in try valueChecks(step.resolved) where !step.needsValues.contains(where: check.asksTheSame) {
            step.needsValues.append(check)
        }
    }

    // MARK: Mandatory values

    /// Mandatory attributes of the destination without any value; those of the version in between are known already.
    private func valuesWithoutSource(in step: ResolvedStep) -> [MappingResolution.RowCheck] {
        step.entityMappings.flatMap { mapping in
            mapping.attributes.compactMap { rule -> MappingResolution.RowCheck? in
                guard let attribute = destinationModel.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, isEmpty(rule, attribute)
                else { return nil }
                return MappingResolution.RowCheck(
                    entityMapping: mapping.name, source: mapping.source, entity: mapping.destination,
                    attribute: rule.name, isConditional: mapping.filter != nil)
            }
        }
    }

    private func isEmpty(_ rule: ResolvedAttribute, _ attribute: Attribute) -> Bool {
        switch rule.expression {
        case nil: rule.defaultValue(of: attribute) == nil
        case .constant(.null)?: true
        default: false
        }
    }

    /// Values that the version in between needs, where the destination does not need the same ones.
    private func valueChecks(_ step: ResolvedStep) throws(CompositionObstacle) -> [MappingResolution.ValueCheck] {
        var checks: [MappingResolution.ValueCheck] = []
        for mapping in first.resolved.entityMappings {
            for rule in mapping.attributes {
                guard let attribute = middleModel.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, !isNeverNil(rule, attribute), !isEmpty(rule, attribute),
                    !isNeeded(rule.expression, of: mapping.source, in: step)
                else { continue }
                guard mapping.filter == nil, let name = Substitution.ownAttribute(rule.expression),
                    let origin = sourceModel.attribute(name, of: mapping.source)
                else {
                    throw CompositionObstacle(
                        "\(mapping.destination).\(rule.name) is mandatory in version \(middle.name)")
                }
                checks.append(
                    MappingResolution.ValueCheck(
                        entityMapping: mapping.name, source: mapping.source, sourceAttribute: name,
                        isOptional: origin.isOptional, entity: mapping.destination, attribute: rule.name,
                        version: middle.name))
            }
        }
        return checks
    }

    private func isNeverNil(_ rule: ResolvedAttribute, _ attribute: Attribute) -> Bool {
        switch rule.expression {
        case nil: return rule.defaultValue(of: attribute) != nil
        case .constant?: return rule.expression?.isValue == true
        case .predefined("ifnil:then:", let operands)?: return operands.count == 2 && operands[1].isValue
        default: return false
        }
    }

    /// Whether the destination has a mandatory attribute of the same value, which is looked at anyway.
    private func isNeeded(_ expression: Expression?, of source: String, in step: ResolvedStep) -> Bool {
        step.entityMappings.contains { mapping in
            mapping.source == source && mapping.filter == nil
                && mapping.attributes.contains {
                    $0.expression == expression
                        && destinationModel.attribute($0.name, of: mapping.destination)?.isOptional == false
                }
        }
    }

    // MARK: Abstract entities

    /// An entity in between that must have no objects gets them from entities of the source.
    private func emptyChecks(
        for check: MappingResolution.EmptyCheck
    ) throws(CompositionObstacle) -> [MappingResolution.EmptyCheck] {
        let feeding = first.resolved.entityMappings.filter { $0.destination == check.source }
        guard feeding.allSatisfy({ $0.filter == nil }) else {
            throw CompositionObstacle("\(check.source) is filtered before it becomes abstract")
        }
        return feeding.map {
            MappingResolution.EmptyCheck(
                entityMapping: check.entityMapping, source: $0.source, destination: check.destination)
        }
    }

    // MARK: Uniqueness

    /// The values that must be unique in the destination, by the source's attributes; nil when no object has any.
    private func uniquenessCheck(
        for check: MappingResolution.UniquenessCheck
    ) throws(CompositionObstacle) -> MappingResolution.UniquenessCheck? {
        var translated = check
        translated.sources = []
        for source in check.sources {
            for mapping in first.resolved.entityMappings where mapping.destination == source.entity {
                guard mapping.filter == nil else { throw unknownUniqueness(check.entity) }
                var values: [MappingResolution.UniquenessCheck.Value] = []
                for value in source.values { values.append(try self.value(value, in: mapping)) }
                translated.sources.append(.init(entity: mapping.source, values: values))
            }
        }
        return translated.sources.isEmpty ? nil : translated
    }

    private func value(
        _ value: MappingResolution.UniquenessCheck.Value, in mapping: ResolvedEntityMapping
    ) throws(CompositionObstacle) -> MappingResolution.UniquenessCheck.Value {
        guard let name = value.attribute else { return value }
        guard let rule = mapping.attributes.first(where: { $0.name == name }),
            let attribute = middleModel.attribute(name, of: mapping.destination)
        else { throw unknownUniqueness(mapping.destination) }
        switch rule.expression {
        case nil: return .init(attribute: nil, defaultValue: rule.defaultValue(of: attribute) ?? value.defaultValue)
        case .predefined("ifnil:then:", let operands)? where operands.count == 2:
            guard let own = Substitution.ownAttribute(operands[0]), let constant = operands[1].storedValue,
                attribute.type != .uuid
            else { throw unknownUniqueness(mapping.destination) }
            return .init(attribute: own, defaultValue: constant)
        case .constant(.null)?: return .init(attribute: nil, defaultValue: value.defaultValue)
        case let expression?:
            guard let own = Substitution.ownAttribute(expression),
                let old = sourceModel.attribute(own, of: mapping.source),
                old.type.isStoredUnchanged(as: attribute.type)
            else { throw unknownUniqueness(mapping.destination) }
            return .init(attribute: own, defaultValue: value.defaultValue)
        }
    }

    /// Constraints of the version in between that cannot be looked at beforehand.
    private func checkUniqueness() throws(CompositionObstacle) {
        for name in middleModel.sortedEntityNames {
            let constraints = middleModel.entities[name]?.uniquenessConstraints ?? []
            for mapping in first.resolved.entityMappings where middleModel.isKind(mapping.destination, of: name) {
                // What did not change is as unique as before.
                if first.resolved.middle.isEmpty, mapping.source == mapping.destination,
                    first.resolved.source.hashes[name] == middle.hashes[name]
                {
                    continue
                }
                for property in constraints.joined() {
                    let rule = mapping.attributes.first { $0.name == property }
                    guard mapping.filter == nil, let rule, isPlain(rule.expression),
                        middleModel.attribute(property, of: name)?.type != .uuid
                            || Substitution.ownAttribute(rule.expression) != nil || rule.expression == nil
                    else {
                        throw unknownUniqueness(name)
                    }
                }
            }
        }
    }

    private func isPlain(_ expression: Expression?) -> Bool {
        switch expression {
        case nil: true
        case .predefined("ifnil:then:", let operands)?:
            operands.count == 2 && Substitution.ownAttribute(operands[0]) != nil && operands[1].storedValue != nil
        default: Substitution.ownAttribute(expression) != nil
        }
    }

    private func unknownUniqueness(_ entity: String) -> CompositionObstacle {
        CompositionObstacle("objects of \(entity) must be unique on the way by more than plain attributes")
    }
}

extension MappingResolution.ValueCheck {
    /// Whether another check looks at the same column.
    fileprivate func asksTheSame(_ other: MappingResolution.ValueCheck) -> Bool {
        source == other.source && sourceAttribute == other.sourceAttribute
    }
}

extension Expression {
    /// A constant as it would be stored by a default value.
    fileprivate var storedValue: DefaultValue? {
        if case .constant(let constant) = self { constant.stored } else { nil }
    }
}
