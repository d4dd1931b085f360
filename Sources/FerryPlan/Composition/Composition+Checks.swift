package import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

// The row checks of both steps, translated to rows of the source store.
extension Composition {
    func addChecks(to step: inout StepPlan) throws(StepObstacle) {
        // The first step's checks cover the middle version.
        step.needsRowCheck = first.needsRowCheck + step.resolved.valuesWithoutSource
        step.needsEmptySource = first.needsEmptySource
        for check in second.needsEmptySource { step.needsEmptySource += try emptyChecks(for: check) }
        step.needsUniqueValues = first.needsUniqueValues
        for check in second.needsUniqueValues {
            if let check = try uniquenessCheck(for: check), !step.needsUniqueValues.contains(where: check.isSame(as:)) {
                step.needsUniqueValues.append(check)
            }
        }
        try checkUniqueness()
        step.needsValues = first.needsValues
        for check in try valueChecks(step.resolved) where !step.needsValues.contains(where: check.readsSameColumn) {
            step.needsValues.append(check)
        }
    }

    /// Checks of values that are mandatory in the middle version and that no check of the destination covers.
    private func valueChecks(_ step: ResolvedStep) throws(StepObstacle) -> [ValueCheck] {
        var checks: [ValueCheck] = []
        for mapping in first.resolved.entityMappings {
            for rule in mapping.attributes {
                guard let attribute = middleModel.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, !isNeverNil(rule, attribute), !rule.leavesEmpty(attribute),
                    !isNeeded(rule.expression, of: mapping.source, in: step)
                else { continue }
                guard mapping.filter == nil, let name = rule.expression?.ownProperty,
                    let origin = sourceModel.attribute(name, of: mapping.source)
                else {
                    throw StepObstacle(
                        "\(mapping.destination).\(rule.name) is mandatory in version \(middle.name)")
                }
                checks.append(
                    ValueCheck(
                        entityMapping: mapping.name, source: mapping.source, sourceAttribute: name,
                        isOptional: origin.isOptional, entity: mapping.destination, attribute: rule.name,
                        version: middle.name))
            }
        }
        return checks
    }

    private func isNeverNil(_ rule: ResolvedAttribute, _ attribute: Attribute) -> Bool {
        switch rule.expression {
        case nil: rule.defaultValue(of: attribute) != nil
        case .constant(let constant)?: constant != .null
        case let expression?: expression.replacesNil
        }
    }

    /// Whether a mandatory attribute of the destination has the same expression, so that its check covers the value.
    private func isNeeded(_ expression: Expression?, of source: String, in step: ResolvedStep) -> Bool {
        step.entityMappings.contains { mapping in
            mapping.source == source && mapping.filter == nil
                && mapping.attributes.contains {
                    $0.expression == expression
                        && destinationModel.attribute($0.name, of: mapping.destination)?.isOptional == false
                }
        }
    }

    /// Translates a check of a middle entity to the source entities that become it.
    private func emptyChecks(
        for check: MappingResolution.EmptyCheck
    ) throws(StepObstacle) -> [MappingResolution.EmptyCheck] {
        let feeding = first.resolved.entityMappings.filter { $0.destination == check.source }
        guard feeding.allSatisfy({ $0.filter == nil }) else {
            throw StepObstacle("\(check.source) is filtered before it becomes abstract")
        }
        return feeding.map { mapping in
            var feeding = check
            feeding.source = mapping.source
            return feeding
        }
    }

    /// Translates a uniqueness check to source attributes; nil if no source entity provides objects.
    private func uniquenessCheck(
        for check: MappingResolution.UniquenessCheck
    ) throws(StepObstacle) -> MappingResolution.UniquenessCheck? {
        var translated = check
        translated.sources = []
        for source in check.sources {
            for mapping in first.resolved.entityMappings where mapping.destination == source.entity {
                guard mapping.filter == nil else { throw unknownUniqueness(check.entity) }
                let values = try source.values.map { value throws(StepObstacle) in
                    try self.value(value, in: mapping)
                }
                translated.sources.append(.init(entity: mapping.source, values: values))
            }
        }
        return translated.sources.isEmpty ? nil : translated
    }

    private func value(
        _ value: MappingResolution.UniquenessCheck.Value, in mapping: ResolvedEntityMapping
    ) throws(StepObstacle) -> MappingResolution.UniquenessCheck.Value {
        guard let name = value.attribute else { return value }
        guard let rule = mapping.attributes.first(where: { $0.name == name }),
            let attribute = middleModel.attribute(name, of: mapping.destination)
        else { throw unknownUniqueness(mapping.destination) }
        if rule.leavesEmpty(attribute) { return .init(attribute: nil, defaultValue: value.defaultValue) }
        guard let expression = rule.expression else {
            return .init(attribute: nil, defaultValue: rule.defaultValue(of: attribute))
        }
        if let (own, constant) = expression.replacedNil, let own = own.ownProperty, let substitute = constant.stored,
            attribute.type != .uuid
        {
            return .init(attribute: own, defaultValue: substitute)
        }
        guard let own = expression.ownProperty, let old = sourceModel.attribute(own, of: mapping.source),
            old.type.isStoredUnchanged(as: attribute.type)
        else { throw unknownUniqueness(mapping.destination) }
        return .init(attribute: own, defaultValue: value.defaultValue)
    }

    /// Refuses uniqueness constraints of the middle version that source rows cannot prove.
    private func checkUniqueness() throws(StepObstacle) {
        for name in middleModel.sortedEntityNames {
            let constraints = middleModel.entities[name]?.uniquenessConstraints ?? []
            for mapping in first.resolved.entityMappings where middleModel.isKind(mapping.destination, of: name) {
                // An unchanged entity is as unique as before.
                if first.resolved.middle.isEmpty, mapping.source == mapping.destination,
                    first.resolved.source.hashes[name] == middle.hashes[name]
                {
                    continue
                }
                for property in constraints.joined() {
                    let rule = mapping.attributes.first { $0.name == property }
                    guard mapping.filter == nil, let rule,
                        isPlain(rule.expression, middleModel.attribute(property, of: name)?.type)
                    else { throw unknownUniqueness(name) }
                }
            }
        }
    }

    private func isPlain(_ expression: Expression?, _ type: AttributeType?) -> Bool {
        guard let expression, expression.ownProperty == nil else { return true }
        return type != .uuid && expression.replacesNil && expression.replacedNil?.value.ownProperty != nil
    }

    private func unknownUniqueness(_ entity: String) -> StepObstacle {
        StepObstacle("objects of \(entity) must be unique in between by more than plain attributes")
    }
}

extension ValueCheck {
    fileprivate func readsSameColumn(_ other: ValueCheck) -> Bool {
        source == other.source && sourceAttribute == other.sourceAttribute
    }
}

/// A source attribute that fills a mandatory attribute and must have a value in every row.
package struct ValueCheck: Sendable, Hashable {
    package var entityMapping: String
    package var source: String
    package var sourceAttribute: String
    /// Whether the attribute is optional in the source's version.
    package var isOptional: Bool
    /// The mandatory attribute, its entity and its version.
    package var entity: String
    package var attribute: String
    package var version: String

    /// The refusal, with the step's place in its chain, or nothing.
    package func problem(rows: Int64, _ step: String) -> FerryError {
        let place = FerryError.Place(entityMapping: entityMapping, entity: entity, property: attribute)
        guard isOptional else {
            return FerryError(
                .damagedSource,
                "\(source).\(sourceAttribute) is mandatory in the store's own version, but has no value in "
                    + "\(rows.counting("row")), and \(entity).\(attribute) of version \(version)\(step) takes its value from it.",
                remedy: "Repair these rows with the app, or restore a backup of the store.", place: place)
        }
        return FerryError(
            .mandatoryValue,
            "\(source).\(sourceAttribute) has no value in \(rows.counting("row")), and \(entity).\(attribute), which takes its value "
                + "from it, is mandatory in version \(version)\(step).",
            remedy: "Give \(attribute) an expression that covers this case, in a mapping model to version \(version).",
            place: place)
    }
}
