internal import FerryExpression
internal import FerryModel

extension ResolvedStep {
    /// A mandatory attribute of the newer version that takes an attribute of the older one as it is.
    package struct MandatoryValue: Sendable, Hashable {
        package var destination: String
        package var source: String
        /// Whether the older version let it be empty: then an empty one is no damage.
        package var wasOptional: Bool
    }

    /// The mandatory attributes that an entity mapping takes over.
    ///
    /// What a policy makes of an object without such a value only its code tells.
    package func mandatoryValues(of mapping: ResolvedEntityMapping) -> [MandatoryValue] {
        guard mapping.policy == nil else { return [] }
        return mapping.attributes.compactMap { attribute in
            guard let name = attribute.expression?.sourceKeys,
                let old = source.model.attribute(name, of: mapping.source),
                let new = destination.model.attribute(attribute.name, of: mapping.destination),
                !new.isOptional, !new.isTransient, !new.isDerived, !old.isTransient
            else { return nil }
            return MandatoryValue(destination: attribute.name, source: name, wasOptional: old.isOptional)
        }
    }

    /// The same step without the source objects that lack a value which they must have and which is taken over.
    ///
    /// They are left out as by a `where`, and counted as dropped.
    package func droppingEmptyMandatoryValues() -> ResolvedStep {
        var step = self
        for index in step.entityMappings.indices {
            let mapping = step.entityMappings[index]
            var conditions = mandatoryValues(of: mapping).filter { !$0.wasOptional }.map { value in
                Predicate.comparison(
                    .init(
                        left: Expression(sourceKeys: value.source), comparator: .notEqual,
                        right: .constant(.null)))
            }
            guard !conditions.isEmpty else { continue }
            if let filter = mapping.filter { conditions.insert(filter, at: 0) }
            step.entityMappings[index].filter = conditions.count == 1 ? conditions[0] : .and(conditions)
        }
        return step
    }
}
