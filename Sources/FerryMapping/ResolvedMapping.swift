package import FerryBase
package import FerryExpression
package import FerryModel

/// The entity mappings of one step, with every automatic part made explicit for the two models.
///
/// The plan, the run and the verification all start from this; none of them interprets a mapping file again.
package struct ResolvedStep: Sendable {
    package var source: ModelVersion
    package var destination: ModelVersion
    package var mappingModels: [MappingModel]
    /// All entity mappings in processing order: mapping models in order, inside each its own order.
    package var entityMappings: [ResolvedEntityMapping]
    /// What the resolution noticed and the plan shows.
    package var warnings: [FerryWarning]
    /// Rules that gave way to one of the inverse that says something else.
    package var overruled: [OverruledRule] = []
    /// The versions between source and destination that the step passes without stopping, in order.
    package var middle: [ModelVersion] = []

    package init(
        source: ModelVersion, destination: ModelVersion, mappingModels: [MappingModel],
        entityMappings: [ResolvedEntityMapping], warnings: [FerryWarning] = []
    ) {
        self.source = source
        self.destination = destination
        self.mappingModels = mappingModels
        self.entityMappings = entityMappings
        var told: Set<FerryWarning> = []
        self.warnings = warnings.filter { told.insert($0).inserted }
    }

    /// Whether a part of the step is code.
    package var hasPolicies: Bool { entityMappings.contains { $0.policy != nil } }

    package func entityMapping(named name: String) -> ResolvedEntityMapping? {
        entityMappings.first { $0.name == name }
    }

    /// The entities of the older version of whose objects nothing is made, abstract ones among them.
    package var droppedEntities: [String] {
        let mapped = Set(entityMappings.map(\.source))
        return source.model.sortedEntityNames.filter { !mapped.contains($0) }
    }

    /// All versions from the source on, the destination last.
    package var versions: [ModelVersion] { [source] + middle + [destination] }
}

/// One entity mapping with source and destination entity, and a value for every property it sets.
package struct ResolvedEntityMapping: Sendable, Hashable {
    /// The place in ``ResolvedStep/entityMappings``, from 0.
    package var position: Int
    /// The place of its mapping model in ``ResolvedStep/mappingModels``.
    package var mappingModel: Int
    package var name: String
    package var source: String
    package var destination: String
    package var filter: Predicate?
    package var iteration: EntityMapping.Iteration?
    package var unique: [String]
    /// Every stored destination attribute in name order: its expression, or nil for the default value.
    package var attributes: [ResolvedAttribute]
    /// Destination relationships that are set, in name order.
    package var relationships: [ResolvedRelationship]
    /// Whether each source object keeps its `Z_PK`: no iteration, no `unique`, and the first mapping that carries its
    /// source root into its destination root.
    ///
    /// It is never said of a mapping with a policy, which may make no object or several: what that one made is found in
    /// its association only.
    package var keepsPrimaryKey: Bool
    /// The class name of its migration policy, as it is registered.
    package var policy: String?
    /// What the policy offers to expressions; nil without a policy.
    package var policyFunctions: Set<String>?
    /// Whether the first object that a policy makes of a source object gets the `Z_PK` of that one.
    package var policyKeepsPrimaryKeys = false
    /// Whether every object of the source is read, once.
    package var readsEveryObject: Bool { filter == nil && iteration == nil }
    /// Whether objects of it may have the `Z_PK` of their sources.
    package var mayKeepPrimaryKeys: Bool { keepsPrimaryKey || policyKeepsPrimaryKeys }
    /// The file's own words for a policy to read.
    package var userInfo: [String: String] = [:]
    /// What the entity is called in each of ``ResolvedStep/middle``.
    package var middle: [String] = []

    package init(
        position: Int, mappingModel: Int, name: String, source: String, destination: String, filter: Predicate?,
        iteration: EntityMapping.Iteration?, unique: [String], attributes: [ResolvedAttribute],
        relationships: [ResolvedRelationship], keepsPrimaryKey: Bool
    ) {
        self.position = position
        self.mappingModel = mappingModel
        self.name = name
        self.source = source
        self.destination = destination
        self.filter = filter
        self.iteration = iteration
        self.unique = unique
        self.attributes = attributes
        self.relationships = relationships
        self.keepsPrimaryKey = keepsPrimaryKey
    }

    /// What the entity is called in each of ``ResolvedStep/versions``.
    package var entities: [String] { [source] + middle + [destination] }

    /// The rule that relates the mapping's objects, by a relationship of theirs, to those of another mapping.
    package func rule(_ relationship: String, to other: ResolvedEntityMapping) -> ResolvedRelationship? {
        relationships.first { $0.name == relationship && $0.mappings.contains(other.name) }
    }
}

package struct ResolvedAttribute: Sendable, Hashable {
    package var name: String
    package var expression: Expression?
    /// The default value of an earlier version in which the attribute came to be; it stands in for the attribute's own.
    package var earlierDefault: DefaultValue?

    package init(name: String, expression: Expression?, earlierDefault: DefaultValue? = nil) {
        precondition(expression == nil || earlierDefault == nil, "an expression leaves no room for a default value")
        self.name = name
        self.expression = expression
        self.earlierDefault = earlierDefault
    }

    /// What every row gets of a destination attribute without an expression, as the store holds it.
    package func defaultValue(of attribute: Attribute) -> DefaultValue? { earlierDefault ?? attribute.defaultValue }

    /// Whether a destination attribute gets no value in any row.
    package func leavesEmpty(_ attribute: Attribute) -> Bool {
        expression.map { $0 == .constant(.null) } ?? (defaultValue(of: attribute) == nil)
    }
}

package struct ResolvedRelationship: Sendable, Hashable {
    package var name: String
    /// The entity mappings whose destination objects are taken, in processing order.
    package var mappings: [String]
    /// The source objects whose destination objects are taken: `$source`, the iteration variable, or a path from one.
    package var from: Expression
    /// Whether the rule passes on the links of ``sourceRelationship`` as they are, with their order: it was automatic,
    /// or says what an automatic one would, under the relationship's own name or under the one that it had.
    package var isAutomatic: Bool

    package init(name: String, mappings: [String], from: Expression, isAutomatic: Bool) {
        self.name = name
        self.mappings = mappings
        self.from = from
        self.isAutomatic = isAutomatic
    }

    /// The source relationship that `from` names, when it is nothing else than one of the source object's own.
    package var sourceRelationship: String? { from.sourceKey }
}

/// A rule of a relationship that does not hold, because its inverse is filled by a rule with another outcome.
package struct OverruledRule: Sendable, Hashable {
    /// The source entity of the entity mapping.
    package var source: String
    package var rule: ResolvedRelationship
    /// The inverse, as `Entity.relationship` of the newer version.
    package var inverse: String
}

extension ResolvedStep {
    /// The mandatory attributes that entity mappings leave without any value, which is a matter of rows: an empty source
    /// passes.
    package var valuesWithoutSource: [MappingResolution.RowCheck] {
        entityMappings.flatMap { mapping in
            mapping.attributes.compactMap { rule -> MappingResolution.RowCheck? in
                guard let attribute = destination.model.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, !attribute.isDerived, rule.leavesEmpty(attribute)
                else { return nil }
                return MappingResolution.RowCheck(
                    entityMapping: mapping.name, source: mapping.source, entity: mapping.destination,
                    attribute: rule.name, isConditional: !mapping.readsEveryObject)
            }
        }
    }

    /// A mandatory attribute of the newer version that takes an attribute of the older one as it is.
    package struct MandatoryValue: Sendable, Hashable {
        package var destination: String
        package var source: String
        /// Whether the older version let it be empty: then an empty one is no damage.
        package var wasOptional: Bool
    }

    /// The mandatory attributes that an entity mapping takes over from those that had to have a value already.
    ///
    /// No rule heals an object that lacks such a value.
    package func values(neededBy mapping: ResolvedEntityMapping) -> [MandatoryValue] {
        mandatoryValues(of: mapping).filter { !$0.wasOptional }
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
            var conditions = values(neededBy: mapping).map { value in
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

/// What one entity mapping read and wrote: `read + created = written + dropped + merged`.
package struct EntityMappingCounts: Sendable, Hashable, Codable {
    package var name: String
    package var source: String?
    package var destination: String?
    /// Source objects times elements of the iteration.
    package var read: Int64 = 0
    /// Further inserts by a policy.
    package var created: Int64 = 0
    package var written: Int64 = 0
    /// By the filter, or by a policy that made nothing.
    package var dropped: Int64 = 0
    /// Found by `unique` instead of created.
    package var merged: Int64 = 0
    /// Whether the numbers are estimates, because no row was looked at; absent where they were counted.
    package var isEstimated: Bool?

    package init(name: String, source: String?, destination: String?) {
        self.name = name
        self.source = source
        self.destination = destination
    }

    package var balances: Bool { read + created == written + dropped + merged }
}
