package import FerryBase
package import FerryExpression
package import FerryModel

/// The entity mappings of one step, with every automatic part made explicit for the two models.
///
/// The plan, the run and the verification all read the resolved step; none of them reads a mapping file again.
///
/// A class, since much of the program holds it, and two models take many words in each of its holders.
package final class ResolvedStep: Sendable {
    package let source: ModelVersion
    package let destination: ModelVersion
    package let mappingModels: [MappingModel]
    /// In processing order: by mapping model, then in its own order.
    package let entityMappings: [ResolvedEntityMapping]
    package let hasPolicies: Bool
    /// Warnings of the resolution, for the plan.
    package let warnings: [FerryWarning]
    /// Rules that a different rule of the inverse replaces.
    package let overruled: [OverruledRule]
    /// The versions between source and destination of a composed step, in order.
    package let middle: [ModelVersion]
    /// The entity mappings by name, of equal names the first.
    private let named: [String: ResolvedEntityMapping]
    /// The entity mappings by source entity, in processing order.
    package let mappingsOfSource: [String: [ResolvedEntityMapping]]

    package init(
        source: ModelVersion, destination: ModelVersion, mappingModels: [MappingModel],
        entityMappings: [ResolvedEntityMapping], warnings: [FerryWarning] = [], overruled: [OverruledRule] = [],
        middle: [ModelVersion] = []
    ) {
        self.source = source
        self.destination = destination
        self.mappingModels = mappingModels
        self.entityMappings = entityMappings
        hasPolicies = entityMappings.contains { $0.policy != nil }
        self.overruled = overruled
        self.middle = middle
        named = Dictionary(first: entityMappings.map { ($0.name, $0) })
        mappingsOfSource = Dictionary(grouping: entityMappings, by: \.source)
        var seen: Set<FerryWarning> = []
        self.warnings = warnings.filter { seen.insert($0).inserted }
    }

    /// The same step with other entity mappings.
    package func with(_ entityMappings: [ResolvedEntityMapping]) -> ResolvedStep {
        ResolvedStep(
            source: source, destination: destination, mappingModels: mappingModels, entityMappings: entityMappings,
            warnings: warnings, overruled: overruled, middle: middle)
    }

    package func entityMapping(named name: String) -> ResolvedEntityMapping? { named[name] }

    /// The entity mappings of one source entity, in processing order.
    package func entityMappings(of source: String) -> [ResolvedEntityMapping] { mappingsOfSource[source] ?? [] }

    /// Source entities without an entity mapping, including abstract ones.
    package var droppedEntities: [String] { source.model.sortedEntityNames.filter { mappingsOfSource[$0] == nil } }

    package var versions: [ModelVersion] { [source] + middle + [destination] }
}

/// One entity mapping with source and destination entity, and a value for every property it sets.
///
/// A class, since plan, run and verification hold it in thousands of places.
package final class ResolvedEntityMapping: Sendable {
    /// The index in ``ResolvedStep/entityMappings``.
    package let position: Int
    /// The index of its mapping model in ``ResolvedStep/mappingModels``.
    package let mappingModel: Int
    package let name: String
    package let source: String
    package let destination: String
    package let filter: Predicate?
    package let iteration: EntityMapping.Iteration?
    package let unique: [String]
    /// Whether nil in an attribute of ``unique`` equals nil; if not, an object with nil there finds no other object.
    package let nilIsEqual: Bool
    /// Which of several equal objects stays.
    package let keep: EntityMapping.Keep
    /// The name in the file of an entity mapping that `keep` made two of; nil for any other, and where it has a filter of
    /// its own.
    package let separatedFrom: String?
    /// Every stored destination attribute in name order: its expression, or nil for the default value.
    package let attributes: [ResolvedAttribute]
    /// Destination relationships that are set, in name order.
    package let relationships: [ResolvedRelationship]
    /// Whether each source object keeps its `Z_PK`: no iteration, no `unique`, and the first mapping that carries its
    /// source root into its destination root.
    ///
    /// False with a policy, which may make no object or several: only its association finds these.
    package let keepsPrimaryKey: Bool
    /// The registered class name of its migration policy.
    package let policy: String?
    /// The functions of the policy for expressions; nil without a policy.
    package let policyFunctions: Set<String>?
    /// Whether the first object that a policy makes of a source object gets that object's `Z_PK`.
    package let policyKeepsPrimaryKeys: Bool
    /// User info of the file, for policies.
    package let userInfo: [String: String]
    /// The name of the entity in each of ``ResolvedStep/middle``.
    package let middle: [String]

    package init(
        position: Int, mappingModel: Int, name: String, source: String, destination: String, filter: Predicate?,
        iteration: EntityMapping.Iteration?, unique: [String], nilIsEqual: Bool = true,
        keep: EntityMapping.Keep = .first, separatedFrom: String? = nil, attributes: [ResolvedAttribute],
        relationships: [ResolvedRelationship], keepsPrimaryKey: Bool, policy: String? = nil,
        policyFunctions: Set<String>? = nil, policyKeepsPrimaryKeys: Bool = false, userInfo: [String: String] = [:],
        middle: [String] = []
    ) {
        self.position = position
        self.mappingModel = mappingModel
        self.name = name
        self.source = source
        self.destination = destination
        self.filter = filter
        self.iteration = iteration
        self.unique = unique
        self.nilIsEqual = nilIsEqual
        self.keep = keep
        self.separatedFrom = separatedFrom
        self.attributes = attributes
        self.relationships = relationships
        self.keepsPrimaryKey = keepsPrimaryKey
        self.policy = policy
        self.policyFunctions = policyFunctions
        self.policyKeepsPrimaryKeys = policyKeepsPrimaryKeys
        self.userInfo = userInfo
        self.middle = middle
    }

    /// The same entity mapping with other parts.
    package func with(
        position: Int? = nil, source: String? = nil, filter: Predicate?? = nil,
        iteration: EntityMapping.Iteration?? = nil, attributes: [ResolvedAttribute]? = nil,
        relationships: [ResolvedRelationship]? = nil, keepsPrimaryKey: Bool? = nil
    ) -> ResolvedEntityMapping {
        ResolvedEntityMapping(
            position: position ?? self.position, mappingModel: mappingModel, name: name,
            source: source ?? self.source, destination: destination, filter: filter ?? self.filter,
            iteration: iteration ?? self.iteration, unique: unique, nilIsEqual: nilIsEqual, keep: keep,
            separatedFrom: separatedFrom, attributes: attributes ?? self.attributes,
            relationships: relationships ?? self.relationships,
            keepsPrimaryKey: keepsPrimaryKey ?? self.keepsPrimaryKey, policy: policy,
            policyFunctions: policyFunctions, policyKeepsPrimaryKeys: policyKeepsPrimaryKeys, userInfo: userInfo,
            middle: middle)
    }

    /// Words for the object of several equal ones whose values stay.
    package var keptObject: String {
        switch keep {
        case .first: "the first one"
        case .last: "the last one"
        case .newest(let value): "the one with the greatest \(value)"
        }
    }

    package var readsEveryObject: Bool { filter == nil && iteration == nil }
    /// Whether every object gives an attribute its value; of objects that become one, that holds for `unique` only.
    package func isGivenByEach(_ attribute: String) -> Bool { unique.isEmpty || unique.contains(attribute) }
    /// Whether objects may have the `Z_PK` of their sources.
    package var mayKeepPrimaryKeys: Bool { keepsPrimaryKey || policyKeepsPrimaryKeys }

    /// The name of the entity in each of ``ResolvedStep/versions``.
    package var entities: [String] { [source] + middle + [destination] }

    /// The rule by which a relationship relates the mapping's objects to those of another mapping.
    package func rule(_ relationship: String, to other: ResolvedEntityMapping) -> ResolvedRelationship? {
        relationships.first { $0.name == relationship && $0.mappings.contains(other.name) }
    }
}

extension ResolvedEntityMapping: Hashable {
    package static func == (one: ResolvedEntityMapping, other: ResolvedEntityMapping) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

package struct ResolvedAttribute: Sendable, Hashable {
    package var name: String
    package var expression: Expression?
    /// The default value in the earlier version that added the attribute; it replaces the attribute's own.
    package var earlierDefault: DefaultValue?

    package init(name: String, expression: Expression?, earlierDefault: DefaultValue? = nil) {
        precondition(expression == nil || earlierDefault == nil, "an expression leaves no room for a default value")
        self.name = name
        self.expression = expression
        self.earlierDefault = earlierDefault
    }

    /// The stored value of a destination attribute without an expression, for all rows.
    package func defaultValue(of attribute: Attribute) -> DefaultValue? { earlierDefault ?? attribute.defaultValue }

    /// Whether a destination attribute gets no value in any row.
    package func leavesEmpty(_ attribute: Attribute) -> Bool {
        expression.map { $0 == .constant(.null) } ?? (defaultValue(of: attribute) == nil)
    }
}

package struct ResolvedRelationship: Sendable, Hashable {
    package var name: String
    /// The entity mappings whose destination objects are related, in processing order.
    package var mappings: [String]
    /// The source objects whose destination objects are related: `$source`, the iteration variable, or a path from one.
    package var from: Expression
    /// Whether the rule passes on the links of ``sourceRelationship`` unchanged, with their order: an automatic rule,
    /// or an equal rule under the same or a changed name.
    package var isAutomatic: Bool

    package init(name: String, mappings: [String], from: Expression, isAutomatic: Bool) {
        self.name = name
        self.mappings = mappings
        self.from = from
        self.isAutomatic = isAutomatic
    }

    /// The relationship of the source object itself that `from` names; nil for any other expression.
    package var sourceRelationship: String? { from.sourceKey }
}

/// A rule of a relationship that a different rule of the inverse replaces.
package struct OverruledRule: Sendable, Hashable {
    /// The source entity of the entity mapping.
    package var source: String
    package var mapping: String
    /// The entity mapping of the related objects.
    package var target: String
    package var rule: ResolvedRelationship
    /// The inverse, as `Entity.relationship` of the newer version.
    package var inverse: String
}

extension ResolvedStep {
    /// The same step, which shares memory with equal rules of another one.
    ///
    /// Most entities are the same in two neighbouring versions, and a chain may have a hundred steps.
    package func sharing(with other: ResolvedStep) -> ResolvedStep {
        let others = Dictionary(first: other.entityMappings.map { ($0.destination, $0) })
        return with(
            entityMappings.map { mapping in
                guard let other = others[mapping.destination] else { return mapping }
                return mapping.with(
                    attributes: Self.shared(mapping.attributes, with: other.attributes, by: \.name),
                    relationships: Self.shared(mapping.relationships, with: other.relationships, by: \.name))
            })
    }

    private static func shared<Rule: Equatable>(
        _ rules: [Rule], with others: [Rule], by name: (Rule) -> String
    ) -> [Rule] {
        guard rules != others else { return others }
        let named = Dictionary(first: others.map { (name($0), $0) })
        return rules.map { rule in
            guard let other = named[name(rule)], other == rule else { return rule }
            return other
        }
    }

    /// The mandatory attributes that entity mappings leave without a value; allowed only while the source has no rows.
    package var valuesWithoutSource: [MappingResolution.RowCheck] {
        entityMappings.flatMap { mapping in
            mapping.attributes.compactMap { rule -> MappingResolution.RowCheck? in
                guard let attribute = destination.model.attribute(rule.name, of: mapping.destination),
                    !attribute.isOptional, !attribute.isDerived, rule.leavesEmpty(attribute)
                else { return nil }
                return MappingResolution.RowCheck(
                    entityMapping: mapping.name, source: mapping.source, entity: mapping.destination,
                    attribute: rule.name, version: destination.name, isConditional: !mapping.readsEveryObject)
            }
        }
    }

    /// A mandatory attribute of the newer version that takes an attribute of the older one unchanged.
    package struct MandatoryValue: Sendable, Hashable {
        package var destination: String
        package var source: String
        /// Whether the attribute was optional in the older version, so that a missing value is not damage.
        package var wasOptional: Bool
    }

    /// The mandatory attributes taken from mandatory ones: no rule repairs an object without such a value.
    package func values(neededBy mapping: ResolvedEntityMapping) -> [MandatoryValue] {
        mandatoryValues(of: mapping).filter { !$0.wasOptional }
    }

    /// The mandatory attributes that an entity mapping takes over; none with a policy, whose code decides.
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

    /// The step without source objects that lack a needed mandatory value, dropped as by a `where`.
    package func droppingEmptyMandatoryValues() -> ResolvedStep {
        with(
            entityMappings.map { mapping in
                var conditions = values(neededBy: mapping).map { value in
                    Predicate.comparison(
                        .init(
                            left: Expression(sourceKeys: value.source), comparator: .notEqual,
                            right: .constant(.null)))
                }
                guard !conditions.isEmpty else { return mapping }
                if let filter = mapping.filter { conditions.insert(filter, at: 0) }
                return mapping.with(filter: conditions.count == 1 ? conditions[0] : .and(conditions))
            })
    }
}
