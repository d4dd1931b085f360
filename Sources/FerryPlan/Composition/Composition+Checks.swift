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
        let unique = step.resolved.uniquenessChecks
        step.needsUniqueValues =
            unique + first.needsUniqueValues.filter { check in !unique.contains { $0.isSame(as: check) } }
        try checkUniqueness()
        try checkMandatoryValues(of: step.resolved)
    }

    /// Refuses values that are mandatory in the middle version, and in neither the source nor the destination.
    private func checkMandatoryValues(of step: ResolvedStep) throws(StepObstacle) {
        for mapping in first.resolved.entityMappings {
            for rule in mapping.attributes {
                guard let attribute = middleModel.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, !isNeverNil(rule, attribute), !rule.leavesEmpty(attribute),
                    !isNeeded(rule.expression, of: mapping.source, in: step)
                else { continue }
                guard let name = rule.expression?.ownProperty,
                    sourceModel.attribute(name, of: mapping.source)?.isOptional == false
                else {
                    throw StepObstacle(
                        "\(mapping.destination).\(rule.name) is mandatory in version \(middle.name)")
                }
            }
        }
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
