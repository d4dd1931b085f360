internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The links of a step's source of which the step keeps a part.
///
/// A relationship and its inverse are stored once: what is lost is told of one of both names.
struct LinkLosses {
    let carriers: StepCarriers
    let place: Int
    let version: String

    private typealias Rule = (mapping: ResolvedEntityMapping, rule: ResolvedRelationship)

    private var step: ResolvedStep { carriers.step }
    private var old: ManagedObjectModel { carriers.model }
    private var new: ManagedObjectModel { step.destination.model }
    private var mappings: [String: [ResolvedEntityMapping]] { carriers.mappings }
    private var rules: [Rule] {
        step.entityMappings.flatMap { mapping in
            mapping.relationships.filter { !$0.mappings.isEmpty }.map { (mapping, $0) }
        }
    }

    func all(isInferred: Bool) -> [ChainLoss] {
        let overruled = overruled()
        let replaced = overruled + (isInferred || step.hasPolicies ? [] : contested())
        let narrowed = toOne().filter { loss in !replaced.contains { $0.name == loss.name } }
        let parts =
            replaced.dropFirst(overruled.count) + narrowed
            + (isInferred ? [] : carriedInPart() + merged() + shared(except: replaced))
        // A relationship that loses all links is not reported for some of them, too.
        return overruled
            + parts.filter { part in
                !overruled.contains { $0.property == part.property && Set(part.entities).isSubset(of: $0.entities) }
            }
    }

    private func loss(_ entity: String, _ name: String, of entities: [String], _ cause: ChainLoss.Cause) -> ChainLoss {
        ChainLoss(entity: entity, property: name, entities: entities, version: version, step: place, cause: cause)
    }

    private func own(_ name: String, of entity: String) -> [Carrier] {
        carriers.all[StoredProperty(entity: entity, property: name)] ?? []
    }

    private func isWhole(_ name: String, of entity: String) -> Bool {
        own(name, of: entity).cover(name, of: mappings[entity] ?? [])
    }

    // MARK: Objects that no rule reads

    private func carriedInPart() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for entity in mappings.keys.sorted() where mappings[entity]?.contains(where: { $0.policy != nil }) == false {
            for relationship in old.relationships(of: entity) where !relationship.isTransient {
                let name = relationship.name
                let property = StoredProperty(entity: entity, property: name)
                guard !isWhole(name, of: entity), carriers.policy(of: property) == nil else { continue }
                let found = own(name, of: entity)
                let readers =
                    found.isEmpty
                    ? (related(byInverseOf: relationship) ?? [:])[entity]?.map { .init($0) } ?? []
                    : found.map(\.reading)
                guard !readers.isEmpty, !isCarriedByInverse(relationship, of: entity) else { continue }
                var loss = loss(
                    entity, name, of: [entity], .carriedInPart(by: readers.map(\.mapping.name).distinct))
                let whole = readers.filter(\.conditions.isEmpty).map(\.mapping)
                loss.objects = .init(
                    of: (mappings[entity] ?? []).carriers.filter { !whole.contains($0) }, except: readers.distinct)
                loss.objects.loseAllLinks = isInverseWhole(of: relationship)
                if !loss.objects.loseAllLinks {
                    loss.objects.otherEnds = otherEnds(of: relationship, readBy: readers.map(\.mapping))
                }
                losses.append(loss)
            }
        }
        return losses
    }

    /// Whether the inverse of a relationship carries all links.
    ///
    /// Of two sides that carry a part, that with the keys in its own rows is reported, which can be counted; else the first.
    private func isCarriedByInverse(_ relationship: Relationship, of entity: String) -> Bool {
        guard let inverse = old.inverse(of: relationship) else { return false }
        let readers = own(relationship.name, of: entity).map(\.reading.mapping)
        if isInverseWhole(of: relationship) {
            guard let related = related(byInverseOf: relationship)?[entity] else { return true }
            // An object that becomes one of another entity may have no place at the other end.
            return (mappings[entity] ?? []).carriers.allSatisfy { readers.contains($0) || related.contains($0) }
        }
        let others = old.concreteFamily(of: relationship.destinationEntity).filter { mappings[$0] != nil }
        return readers.isEmpty
            || others.contains { other in
                !isWhole(inverse.name, of: other) && !own(inverse.name, of: other).isEmpty
                    && (inverse.isToMany == relationship.isToMany
                        ? codeUnitOrder("\(other).\(inverse.name)", "\(entity).\(relationship.name)")
                        : !inverse.isToMany)
            }
    }

    /// The related objects that live on, but not as those to which the rules of the readers relate.
    private func otherEnds(
        of relationship: Relationship, readBy readers: [ResolvedEntityMapping]
    ) -> [ChainLoss.Objects] {
        let rules = readers.flatMap(\.relationships).filter {
            $0.sourceRelationship == relationship.name && !$0.mappings.isEmpty
        }
        guard !rules.isEmpty else { return [] }
        return old.concreteFamily(of: relationship.destinationEntity).inOrder(by: codeUnitOrder).compactMap { other in
            let own = mappings[other] ?? []
            let related = own.filter { heir in rules.allSatisfy { $0.mappings.contains(heir.name) } }
            let apart = own.carriers.filter { !related.contains($0) }
            if apart.isEmpty || related.contains(where: \.readsEveryObject) { return nil }
            var objects = ChainLoss.Objects()
            (objects.of, objects.except) = (apart.map { .init($0) }, related.map { .init($0) })
            return objects
        }
    }

    private func isInverseWhole(of relationship: Relationship) -> Bool {
        guard let inverse = old.inverse(of: relationship) else { return false }
        return old.concreteFamily(of: relationship.destinationEntity).filter { mappings[$0] != nil }
            .allSatisfy { isWhole(inverse.name, of: $0) }
    }

    /// By source entity, the mappings to whose objects every rule of a relationship's inverse relates; nil without a rule.
    private func related(byInverseOf relationship: Relationship) -> [String: [ResolvedEntityMapping]]? {
        guard let inverse = old.inverse(of: relationship) else { return nil }
        let rules = old.concreteFamily(of: relationship.destinationEntity).flatMap { mappings[$0] ?? [] }
            .flatMap(\.relationships).filter { $0.sourceRelationship == inverse.name && !$0.mappings.isEmpty }
        guard !rules.isEmpty else { return nil }
        return mappings.mapValues { heirs in
            heirs.filter { heir in rules.allSatisfy { $0.mappings.contains(heir.name) } }
        }
    }

    // MARK: One of several links

    /// Relationships of which the step keeps one of several links, since a side becomes to-one.
    private func toOne() -> [ChainLoss] {
        var sources: [PropertyKey: Set<String>] = [:]
        // Sides whose links another rule carries over completely.
        var kept: Set<PropertyKey> = []
        // Sides that are narrowed together with their inverse: the choice of links decides which are lost.
        var bothWays: Set<PropertyKey> = []
        for (mapping, rule) in rules where mapping.policy == nil {
            guard let name = rule.sourceRelationship, let link = old.relationship(name, of: mapping.source),
                let side = old.key(of: name, in: mapping.source),
                let target = new.relationship(rule.name, of: mapping.destination)
            else { continue }
            let otherSide = old.inverseKey(of: link)
            var narrowed: [PropertyKey: Set<String>] = [:]
            if link.isToMany, !target.isToMany { narrowed[side, default: []].insert(mapping.source) }
            // A to-many relationship without inverse is a key in its destination's table, which leads to one object.
            if new.inverse(of: target).map({ !$0.isToMany }) ?? target.isToMany {
                if let inverse = old.inverse(of: link), let otherSide {
                    if inverse.isToMany {
                        narrowed[otherSide, default: []].formUnion(old.family(of: otherSide.entity))
                    }
                } else if !link.isToMany {
                    // Any number of objects may have a key to the same one.
                    narrowed[side, default: []].insert(mapping.source)
                }
            }
            if narrowed.isEmpty { kept.formUnion([side] + (otherSide.map { [$0] } ?? [])) }
            if narrowed.count > 1 { bothWays.formUnion(narrowed.keys) }
            sources.merge(narrowed) { $0.union($1) }
        }
        return sources.filter { !kept.contains($0.key) }.map { side, sources in
            loss(
                side.entity, side.property,
                of: sources.filter { old.entities[$0]?.isAbstract == false }.inOrder(by: codeUnitOrder),
                .relatedToOne(isExact: !bothWays.contains(side)))
        }
        .filter { !$0.entities.isEmpty }
        .inOrder { codeUnitOrder($0.name, $1.name) }
    }

    /// Several relationships of the source whose links go into one that keeps one link of an object.
    ///
    /// Of those that two rules of one relationship contest it is known which link goes.
    private func shared(except contested: [ChainLoss]) -> [ChainLoss] {
        // By the mapping of the objects that keep one link.
        var places: [Place: [(side: Set<PropertyKey>, property: StoredProperty)]] = [:]
        for (property, found) in carriers.all.inOrder(by: { codeUnitOrder($0.key.name, $1.key.name) }) {
            guard let name = property.property, let link = old.relationship(name, of: property.entity),
                let key = old.key(of: name, in: property.entity)
            else { continue }
            let side = Set([key] + (old.inverseKey(of: link).map { [$0] } ?? []))
            for carrier in found {
                let mapping = carrier.reading.mapping
                // Conditions say which link is taken.
                guard carrier.reading.conditions.isEmpty, !carrier.isJoin,
                    let rule = mapping.relationships.first(where: { $0.name == carrier.destination.property }),
                    let target = new.relationship(rule.name, of: mapping.destination),
                    let own = new.key(of: rule.name, in: mapping.destination)
                else { continue }
                if !target.isToMany {
                    places[Place(key: own, mapping: mapping.name), default: []].append((side, property))
                }
                if let other = new.inverseKey(of: target), new.inverse(of: target)?.isToMany == false {
                    for name in rule.mappings {
                        places[Place(key: other, mapping: name), default: []].append((side, property))
                    }
                }
            }
        }
        var losses: [ChainLoss] = []
        for links in places.inOrder(by: { codeUnitOrder($0.key.title, $1.key.title) }).map(\.value)
        where Set(links.map(\.side)).count > 1 {
            let names = links.map(\.property.name).distinct
            if contested.contains(where: { names.contains($0.name) }) { continue }
            for link in links where !losses.contains(where: { $0.name == link.property.name }) {
                let others = links.filter { $0.side != link.side }.map(\.property.name).distinct
                losses.append(
                    loss(
                        link.property.entity, link.property.property ?? "", of: [link.property.entity],
                        .shared(with: others)))
            }
        }
        return losses
    }

    /// A relationship of the objects of one entity mapping.
    private struct Place: Hashable {
        let key: PropertyKey
        let mapping: String
        var title: String { "\(key.title) \(mapping)" }
    }

    // MARK: Two rules for one relationship

    /// Relationships whose links are lost because another rule fills the inverse.
    private func overruled() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for overruled in step.overruled where !step.carriesElsewhere(overruled) {
            guard let name = overruled.rule.sourceRelationship else { continue }
            let entity = old.declaringEntity(of: name, in: overruled.source) ?? overruled.source
            if let known = losses.firstIndex(where: { $0.entity == entity && $0.property == name }) {
                if !losses[known].entities.contains(overruled.source) {
                    losses[known].entities.append(overruled.source)
                }
                continue
            }
            losses.append(loss(entity, name, of: [overruled.source], .overruled(by: overruled.inverse)))
        }
        return losses
    }

    /// Links of a to-one relationship of which the step keeps those of a later rule of the inverse.
    ///
    /// Two entity mappings may relate one object to objects of their own, each from its side: the object keeps one link.
    private func contested() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        let byKey = Dictionary(grouping: rules) { new.key(of: $0.rule.name, in: $0.mapping.destination) }
        for (mapping, rule) in rules where rule.isAutomatic {
            guard let name = rule.sourceRelationship,
                let target = new.relationship(rule.name, of: mapping.destination),
                !target.isToMany, let inverse = new.inverse(of: target), let key = new.inverseKey(of: target),
                old.relationship(name, of: mapping.source) != nil,
                case let winners = laterRules(of: key, than: rule, of: mapping, byKey),
                let winner = winners.last?.mapping,
                !losses.contains(where: { $0.entities == [mapping.source] && $0.property == name })
            else { continue }
            let isExact =
                mapping.keepsEveryObject && old.relationship(name, of: mapping.source)?.isToMany == false
                && rule.mappings.allSatisfy { step.entityMapping(named: $0)?.keepsEveryObject == true }
            // In a one-to-one, the objects that lose their link also depend on those at the other end.
            let readings =
                inverse.isToMany
                ? winners.compactMap { mapping, rule in
                    rule.sourceRelationship.map { ChainLoss.Reading(mapping, path: [$0]) }
                } : []
            let contest = ChainLoss.Contest(
                readings: readings.count == winners.count ? readings : [], winners: winners.map(\.mapping.name),
                inverse: "\(winner.destination).\(inverse.name)", isExact: isExact)
            losses.append(loss(mapping.source, name, of: [mapping.source], .contested(contest)))
        }
        return losses
    }

    /// The rules of the inverse that relate a mapping's objects, if their side goes before that of the rule.
    private func laterRules(
        of key: PropertyKey, than rule: ResolvedRelationship, of mapping: ResolvedEntityMapping,
        _ byKey: [PropertyKey?: [Rule]]
    ) -> [Rule] {
        let own = new.key(of: rule.name, in: mapping.destination).flatMap { byKey[$0] } ?? []
        let others = byKey[key] ?? []
        guard let last = others.last, let lastOwn = own.last,
            (last.mapping.position, last.rule.name) > (lastOwn.mapping.position, lastOwn.rule.name)
        else { return [] }
        return others.filter { $0.rule.mappings.contains(mapping.name) }
    }

    // MARK: Merged objects

    /// To-one relationships of merged objects; a to-many relationship gets the links of all of them.
    private func merged() -> [ChainLoss] {
        step.entityMappings.filter { !$0.unique.isEmpty }.flatMap { mapping in
            links(of: mapping).map { name, ends in
                loss(
                    mapping.source, name, of: [mapping.source], .merged(.of(mapping, in: step, isOwn: true, ends: ends))
                )
            }
        }
    }

    private func links(of mapping: ResolvedEntityMapping) -> [(name: String, ends: ChainLoss.Merging.Ends)] {
        var links: [(name: String, ends: ChainLoss.Merging.Ends)] = []
        func add(_ name: String, _ ends: ChainLoss.Merging.Ends) {
            guard old.relationship(name, of: mapping.source)?.isToMany == false,
                !links.contains(where: { $0.name == name }), !isCarriedElsewhere(name, by: mapping)
            else { return }
            links.append((name, ends))
        }
        for rule in mapping.relationships where !rule.mappings.isEmpty {
            guard let name = rule.sourceRelationship, let target = new.relationship(rule.name, of: mapping.destination),
                !target.isToMany
            else { continue }
            add(name, ends(of: rule, mapping, isExclusive: new.inverse(of: target)?.isToMany == false))
        }
        // A rule of the other side may fill the relationship.
        for (other, rule) in rules where rule.mappings.contains(mapping.name) {
            guard let name = rule.sourceRelationship, let target = new.relationship(rule.name, of: other.destination),
                let inverse = new.inverse(of: target), !inverse.isToMany,
                let back = old.relationship(name, of: other.source)?.inverseName
            else { continue }
            // Each object of a one-to-one relationship has a link of its own, whichever stays.
            add(back, !target.isToMany && keepsAll(other.name) ? .apart : .unknown)
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
        guard !isOwn, let link = old.relationship(relationship, of: mapping.source), let inverse = old.inverse(of: link)
        else { return isOwn }
        let names = Set(carriers.map(\.name))
        return rules.contains { other, rule in
            other.unique.isEmpty && rule.sourceRelationship == inverse.name && !names.isDisjoint(with: rule.mappings)
                && old.isKind(other.source, of: link.destinationEntity)
        }
    }
}

extension ResolvedStep {
    /// Whether another entity mapping carries the links that an overruled rule does not.
    ///
    /// Where an object becomes several objects, each of these may have a rule that takes the same links: those of the
    /// object with its key count.
    fileprivate func carriesElsewhere(_ overruled: OverruledRule) -> Bool {
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
