internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The links of a to-one relationship of which a step keeps those of a later rule of the inverse.
///
/// A relationship and its inverse are stored once. Two entity mappings may relate one object to objects of their own,
/// each from its side: the object keeps one link, that of the later rule.
package struct ContestedLinks {
    /// The rules of the inverse, of which the last comes later.
    package struct Contest: Sendable, Hashable {
        /// Their mappings, with the paths to the contested objects; none if these do not show which lose their link.
        package var readings: [ChainLoss.Reading]
        var winners: [String]
        /// `Entity.relationship` of the newer version.
        var inverse: String
        /// Whether each link that the earlier rule takes arrives if the later one does not replace it.
        package var isExact: Bool
    }

    private typealias Rule = (mapping: ResolvedEntityMapping, rule: ResolvedRelationship)

    private let step: ResolvedStep
    /// The rules with entity mappings to relate, in their order, by the relationship of the newer version.
    private var rules: [PropertyKey: [Rule]] = [:]

    init(_ step: ResolvedStep) {
        self.step = step
        for mapping in step.entityMappings {
            for rule in mapping.relationships where !rule.mappings.isEmpty {
                guard let key = step.destination.model.key(of: rule.name, in: mapping.destination) else { continue }
                rules[key, default: []].append((mapping, rule))
            }
        }
    }

    func losses(at place: Int, to version: String) -> [ChainLoss] {
        guard !step.mappingModels.allSatisfy(\.isInferred), !step.hasPolicies else { return [] }
        var losses: [ChainLoss] = []
        let (old, new) = (step.source.model, step.destination.model)
        for mapping in step.entityMappings {
            for rule in mapping.relationships where rule.isAutomatic && !rule.mappings.isEmpty {
                guard let name = rule.sourceRelationship,
                    let target = new.relationship(rule.name, of: mapping.destination),
                    !target.isToMany, let inverse = new.inverse(of: target), let key = new.inverseKey(of: target),
                    old.relationship(name, of: mapping.source) != nil,
                    case let winners = laterRules(of: key, than: rule, of: mapping),
                    let winner = winners.last?.mapping
                else { continue }
                let isKnown = losses.contains { $0.entities == [mapping.source] && $0.property == name }
                if isKnown { continue }
                let isExact =
                    mapping.keepsEveryObject && old.relationship(name, of: mapping.source)?.isToMany == false
                    && rule.mappings.allSatisfy { step.entityMapping(named: $0)?.keepsEveryObject == true }
                // In a one-to-one, the objects that lose their link also depend on those at the other end.
                let readings =
                    inverse.isToMany
                    ? winners.compactMap { mapping, rule in
                        rule.sourceRelationship.map { ChainLoss.Reading(mapping, path: [$0]) }
                    } : []
                let contest = Contest(
                    readings: readings.count == winners.count ? readings : [], winners: winners.map(\.mapping.name),
                    inverse: "\(winner.destination).\(inverse.name)", isExact: isExact)
                losses.append(
                    ChainLoss(
                        entity: mapping.source, property: name, entities: [mapping.source], version: version,
                        step: place, cause: .contested(contest)))
            }
        }
        return losses
    }

    /// The rules of the inverse that relate a mapping's objects, if their side goes before that of the rule.
    private func laterRules(
        of key: PropertyKey, than rule: ResolvedRelationship, of mapping: ResolvedEntityMapping
    ) -> [Rule] {
        let new = step.destination.model
        let own = new.key(of: rule.name, in: mapping.destination).flatMap { rules[$0] } ?? []
        let others = rules[key] ?? []
        guard let last = others.last, let lastOwn = own.last,
            (last.mapping.position, last.rule.name) > (lastOwn.mapping.position, lastOwn.rule.name)
        else { return [] }
        return others.filter { $0.rule.mappings.contains(mapping.name) }
    }

}

extension ResolvedStep {
    /// Whether another entity mapping carries the links that an overruled rule does not.
    ///
    /// Where an object becomes several objects, each of these may have a rule that takes the same links: those of the
    /// object with its key count.
    func carriesElsewhere(_ overruled: OverruledRule) -> Bool {
        guard let name = overruled.rule.sourceRelationship,
            let mapping = entityMapping(named: overruled.mapping),
            let target = entityMapping(named: overruled.target),
            let relationship = source.model.relationship(name, of: mapping.source)
        else { return false }
        func isSame(_ one: ResolvedEntityMapping, _ other: ResolvedEntityMapping) -> Bool {
            one.name == mapping.name && other.name == target.name
        }
        func isSuccessor(_ other: ResolvedEntityMapping, _ one: ResolvedEntityMapping) -> Bool {
            other.source == one.source && other.rank >= one.rank
        }
        return entityMappings.contains { other in
            other.relationships.contains { rule in
                rule.mappings.compactMap { entityMapping(named: $0) }.contains { end in
                    if rule.sourceRelationship == name {
                        return isSuccessor(other, mapping) && isSuccessor(end, target) && !isSame(other, end)
                    }
                    return rule.sourceRelationship != nil && rule.sourceRelationship == relationship.inverseName
                        && isSuccessor(other, target) && isSuccessor(end, mapping) && !isSame(end, other)
                }
            }
        }
    }
}

extension ResolvedEntityMapping {
    /// How much of its source objects a mapping carries: the objects themselves, one object each, or parts.
    fileprivate var rank: Int { mayKeepPrimaryKeys ? 2 : isOneToOne ? 1 : 0 }
}
