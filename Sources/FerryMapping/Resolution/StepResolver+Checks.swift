internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// What the models alone cannot decide: the preflight asks the rows.
extension StepResolver {
    // MARK: Mandatory relationships

    /// Tells of mandatory relationships that an inferred mapping cannot fill, from neither side.
    ///
    /// Core Data's lightweight migration asks nothing of relationships: objects without a related one are found by the
    /// validation when they are saved next.
    mutating func warnOfEmptyRelationships(in mappings: [ResolvedEntityMapping]) {
        for mapping in mappings where mappingModels[mapping.mappingModel].isInferred {
            for relationship in destination.model.relationships(of: mapping.destination)
            where !relationship.isOptional && !relationship.isTransient {
                let isSet = mapping.relationships.contains { $0.name == relationship.name }
                guard !isSet, !isSetByInverse(relationship, of: mapping, in: mappings) else { continue }
                warnings.append(
                    FerryWarning(
                        .emptyMandatoryRelationship,
                        "\(mapping.destination).\(relationship.name) is mandatory, but empty in all rows of "
                            + "\(mapping.source): the app must relate them before it saves them.",
                        about: .init(
                            entity: mapping.destination, property: relationship.name, entityMapping: mapping.name)))
            }
        }
    }

    /// A relationship that its own mapping leaves empty is filled where another one sets its inverse.
    mutating func takeBackWhatInversesFill(in mappings: [ResolvedEntityMapping]) {
        for (warning, name, relationship) in emptied {
            guard let mapping = mappings.first(where: { $0.name == name }),
                isSetByInverse(relationship, of: mapping, in: mappings)
            else { continue }
            warnings.removeAll { $0 == warning }
        }
    }

    private func isSetByInverse(
        _ relationship: Relationship, of mapping: ResolvedEntityMapping, in mappings: [ResolvedEntityMapping]
    ) -> Bool {
        guard let inverse = destination.model.inverse(of: relationship) else { return false }
        return mappings.contains { other in
            destination.model.isKind(other.destination, of: relationship.destinationEntity)
                && other.relationships.contains { $0.name == inverse.name && $0.mappings.contains(mapping.name) }
        }
    }

    // MARK: Uniqueness

    /// The uniqueness constraints that the source did not have, where its rows show beforehand whether they hold.
    func uniquenessChecks(of mappings: [ResolvedEntityMapping]) -> [MappingResolution.UniquenessCheck] {
        var checks: [MappingResolution.UniquenessCheck] = []
        for name in destination.model.sortedEntityNames {
            let ranging = mappings.filter { destination.model.isKind($0.destination, of: name) }
            for constraint in destination.model.entities[name]?.uniquenessConstraints ?? [] where !ranging.isEmpty {
                let sources = ranging.compactMap { source(of: constraint, in: $0) }
                guard sources.count == ranging.count, !isKept(sources) else { continue }
                checks.append(.init(entity: name, attributes: constraint, sources: sources))
            }
        }
        return checks
    }

    /// Where the constrained values of a mapping come from; nil when that takes more than looking at columns.
    private func source(
        of constraint: [String], in mapping: ResolvedEntityMapping
    ) -> MappingResolution.UniquenessCheck.Source? {
        guard mapping.filter == nil, mapping.iteration == nil, mapping.unique.isEmpty, mapping.policy == nil else {
            return nil
        }
        var values: [MappingResolution.UniquenessCheck.Value] = []
        for name in constraint {
            guard let rule = mapping.attributes.first(where: { $0.name == name }),
                let attribute = destination.model.attribute(name, of: mapping.destination)
            else { return nil }
            switch rule.expression {
            case nil: values.append(.init(attribute: nil, defaultValue: attribute.defaultValue))
            case .predefined("ifnil:then:", let operands)?:
                // Its second operand is the default value: nothing else infers this form.
                guard mappingModels[mapping.mappingModel].isInferred, let path = operands.first,
                    let name = path.sourceKeys
                else { return nil }
                values.append(.init(attribute: name, defaultValue: attribute.defaultValue))
            case let path?:
                guard let name = path.sourceKeys else { return nil }
                values.append(.init(attribute: name, defaultValue: nil))
            }
        }
        return .init(entity: mapping.source, values: values)
    }

    /// Whether the source has the same constraint over all of these objects.
    private func isKept(_ sources: [MappingResolution.UniquenessCheck.Source]) -> Bool {
        let homes = sources.map { source -> String? in
            guard source.values.allSatisfy({ $0.defaultValue == nil && $0.attribute != nil }) else { return nil }
            let names = Set(source.values.compactMap(\.attribute))
            return self.source.model.lineage(of: source.entity).first { entity in
                entity.uniquenessConstraints.contains { Set($0) == names }
            }?.name
        }
        return Set(homes).count == 1 && homes[0] != nil
    }
}
