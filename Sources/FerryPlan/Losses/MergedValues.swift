internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// The source properties of which a step keeps one value of several, since it merges objects by `unique`.
struct MergedValues {
    private let step: ResolvedStep
    private let flow: PropertyFlow

    init(_ step: ResolvedStep) {
        self.step = step
        flow = PropertyFlow(step, merging: false)
    }

    func losses(at place: Int, to version: String) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for mapping in step.entityMappings where !mapping.unique.isEmpty {
            for (property, ends) in attributes(of: mapping) + links(of: mapping) {
                let isKnown = losses.contains {
                    $0.entities.contains(property.entity) && $0.property == property.property
                }
                if isKnown { continue }
                // Values of other objects that an expression reads cannot be compared in the objects' own rows.
                let isOwn = property.entity == mapping.source
                let merging = ChainLoss.Merging(
                    by: mapping.unique, sources: isOwn ? keys(of: mapping) : nil, nilIsEqual: mapping.nilIsEqual,
                    kept: mapping.keptObject, order: order(of: mapping),
                    ends: ends)
                losses.append(
                    ChainLoss(
                        entity: property.entity, property: property.property, entities: [property.entity],
                        version: version, step: place, cause: .merged(merging)))
            }
        }
        return losses
    }

    /// Attributes that only the merged objects carry on.
    private func attributes(of mapping: ResolvedEntityMapping) -> [(StoredProperty, ends: ChainLoss.Merging.Ends)] {
        let read = mapping.attributes.filter { !mapping.unique.contains($0.name) }.compactMap(\.expression)
            .flatMap { flow.mentions(in: $0, of: mapping) }
        let model = step.source.model
        return read.filter { property in
            property.property.map { model.relationship($0, of: property.entity) == nil } ?? false
                && flow.continuations(of: property).isEmpty && !flow.isHandledByPolicy(property)
        }
        .map { ($0, .apart) }
    }

    // MARK: Links

    /// To-one relationships of the merged objects; a to-many relationship gets the links of all of them.
    private func links(of mapping: ResolvedEntityMapping) -> [(StoredProperty, ends: ChainLoss.Merging.Ends)] {
        let (old, new) = (step.source.model, step.destination.model)
        var links: [(StoredProperty, ends: ChainLoss.Merging.Ends)] = []
        func add(_ name: String, _ ends: ChainLoss.Merging.Ends) {
            guard old.relationship(name, of: mapping.source)?.isToMany == false,
                !links.contains(where: { $0.0.property == name }), !isCarriedElsewhere(name, by: mapping)
            else { return }
            links.append((StoredProperty(entity: mapping.source, property: name), ends))
        }
        for rule in mapping.relationships where !rule.mappings.isEmpty {
            guard let name = rule.sourceRelationship, let target = new.relationship(rule.name, of: mapping.destination),
                !target.isToMany
            else { continue }
            add(name, ends(of: rule, mapping, isExclusive: new.inverse(of: target)?.isToMany == false))
        }
        // A rule of the other side may fill the relationship.
        for other in step.entityMappings {
            for rule in other.relationships where rule.mappings.contains(mapping.name) {
                guard let name = rule.sourceRelationship,
                    let target = new.relationship(rule.name, of: other.destination),
                    let inverse = new.inverse(of: target), !inverse.isToMany,
                    let back = old.relationship(name, of: other.source)?.inverseName
                else { continue }
                // Each object of a one-to-one relationship has a link of its own, whichever stays.
                add(back, !target.isToMany && keepsAll(other.name) ? .apart : .unknown)
            }
        }
        return links
    }

    private func ends(
        of rule: ResolvedRelationship, _ mapping: ResolvedEntityMapping, isExclusive: Bool
    ) -> ChainLoss.Merging.Ends {
        if rule.mappings.allSatisfy(keepsAll) { return .apart }
        // Two objects that had each other's link may become one.
        let isKnown = rule.mappings.allSatisfy { $0 == mapping.name || keepsAll($0) }
        return isKnown && !isExclusive ? .merged : .unknown
    }

    /// Whether each source object has an object of the mapping with its key.
    private func keepsAll(_ name: String) -> Bool {
        step.entityMapping(named: name).map { $0.keepsPrimaryKey && $0.filter == nil } ?? false
    }

    /// Whether another entity mapping carries the objects with the relationship, which its inverse may fill.
    private func isCarriedElsewhere(_ relationship: String, by mapping: ResolvedEntityMapping) -> Bool {
        let carriers = step.entityMappings.filter { $0.source == mapping.source && $0.unique.isEmpty }
        let isOwn = carriers.contains { other in
            other.relationships.contains { $0.sourceRelationship == relationship && !$0.mappings.isEmpty }
        }
        guard !isOwn, let old = step.source.model.relationship(relationship, of: mapping.source),
            let inverse = step.source.model.inverse(of: old)
        else { return isOwn }
        let names = Set(carriers.map(\.name))
        return step.entityMappings.contains { other in
            other.unique.isEmpty
                && other.relationships.contains {
                    $0.sourceRelationship == inverse.name && !names.isDisjoint(with: $0.mappings)
                        && step.source.model.isKind(other.source, of: old.destinationEntity)
                }
        }
    }

    // MARK: Keys

    private func order(of mapping: ResolvedEntityMapping) -> ChainLoss.Merging.Order {
        switch mapping.keep {
        case .first: .first
        case .last: .last
        case .newest(let value): .greatest(value.sourceKeys ?? value.ownProperty)
        }
    }

    /// The source attributes by whose values the source objects are merged among themselves; nil if rows do not show it.
    private func keys(of mapping: ResolvedEntityMapping) -> [String]? {
        let (old, new) = (step.source.model, step.destination.model)
        let others = step.entityMappings.filter { $0.destination == mapping.destination && $0.name != mapping.name }
        // The two parts of a mapping with `keep` read every object together.
        let isPair = mapping.separatedFrom != nil && others.allSatisfy { $0.separatedFrom == mapping.separatedFrom }
        guard isPair || (others.isEmpty && mapping.readsEveryObject), !step.hasPolicies else { return nil }
        var keys: [String] = []
        for name in mapping.unique {
            guard let key = mapping.attributes.first(where: { $0.name == name })?.expression?.sourceKeys,
                let before = old.attribute(key, of: mapping.source),
                let after = new.attribute(name, of: mapping.destination), before.type == after.type
            else { return nil }
            keys.append(key)
        }
        return keys
    }
}

extension ChainLoss {
    /// How objects with equal values become one.
    package struct Merging: Sendable, Hashable {
        /// The destination attributes whose values are equal.
        package var by: [String]
        /// The attributes of the source entity that hold these values; nil if only the run knows which objects merge.
        package var sources: [String]?
        /// Whether nil equals nil.
        package var nilIsEqual: Bool
        /// Words for the object whose values stay.
        package var kept = "the first one"
        package var order = Order.first

        /// The order in which the first of the objects stays.
        package enum Order: Sendable, Hashable {
            case first
            case last
            /// By a source attribute; nil for any other value.
            case greatest(String?)
        }

        /// The objects at the ends of links.
        package var ends: Ends

        package enum Ends: Sendable, Hashable {
            /// Different objects stay different ones; also said of an attribute.
            case apart
            /// They are merged by the same values, or stay.
            case merged
            /// Some may become one in another way.
            case unknown
        }
    }

    package var merging: Merging? { if case .merged(let merging) = cause { merging } else { nil } }
}
