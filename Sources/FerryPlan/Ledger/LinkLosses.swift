internal import FerryBase
internal import FerryExpression
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

    typealias Rule = (mapping: ResolvedEntityMapping, rule: ResolvedRelationship)

    var step: ResolvedStep { carriers.step }
    var old: ManagedObjectModel { carriers.model }
    var new: ManagedObjectModel { step.destination.model }
    private var mappings: [String: [ResolvedEntityMapping]] { carriers.mappings }
    var rules: [Rule] {
        step.entityMappings.flatMap { mapping in
            mapping.relationships.filter { !$0.mappings.isEmpty }.map { (mapping, $0) }
        }
    }

    func all(isInferred: Bool) -> [ChainLoss] {
        let replaced = overruled() + (isInferred || step.hasPolicies ? [] : contested())
        let narrowed = toOne().filter { loss in !replaced.contains { $0.name == loss.name } }
        return replaced + narrowed + (isInferred ? [] : carriedInPart() + merged() + shared(except: replaced))
    }

    func loss(_ entity: String, _ name: String, of entities: [String], _ cause: ChainLoss.Cause) -> ChainLoss {
        ChainLoss(entity: entity, property: name, entities: entities, version: version, step: place, cause: cause)
    }

    func own(_ name: String, of entity: String) -> [Carrier] {
        carriers.all[StoredProperty(entity: entity, property: name)] ?? []
    }

    /// Whether links of a relationship may also live on as objects that are related to both ends.
    private func mayBeJoined(_ name: String, of entity: String) -> Bool {
        carriers.sides(of: StoredProperty(entity: entity, property: name)).contains { side in
            carriers.all[side]?.contains(where: \.isJoin) == true
        }
    }

    // MARK: Objects that no rule reads

    /// Links whose two objects live on while no rule of either side relates those.
    private func carriedInPart() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for entity in mappings.keys.sorted() {
            let owners = mappings[entity] ?? []
            for link in old.relationships(of: entity) where !link.isTransient && isTold(link, of: entity) {
                let property = StoredProperty(entity: entity, property: link.name)
                let all = pairs(link, of: entity)
                // Where a rule keeps one of several links, those of the others are lost beside rules that keep all.
                let pairs = all.contains { !$0.isNarrow } ? all.filter { !$0.isNarrow } : all
                let others = old.concreteFamily(of: link.destinationEntity).inOrder(by: codeUnitOrder)
                let ends = others.flatMap { (mappings[$0] ?? []).carriers }
                let isWhole = ends.allSatisfy { end in
                    pairs.filter { $0.relates(end, link.inverseName) }.map(\.owner).cover(link.name, of: owners)
                }
                guard !isWhole, !carriers.continuations(of: property).isEmpty else { continue }
                let own = own(link.name, of: entity)
                let readers = (own.isEmpty ? pairs.map(\.rule) : own.map(\.reading.mapping.name)).distinct
                let policy = carriers.policy(of: property).map { ChainLoss.Cause.leftToPolicy($0) }
                var loss = loss(entity, link.name, of: [entity], policy ?? .carriedInPart(by: readers))
                loss.objects = .init(of: owners.carriers)
                loss.objects.links = .init(
                    ends: others.allSatisfy { (mappings[$0] ?? []).carriers.contains(where: \.readsEveryObject) }
                        ? [] : ends.map { .init($0) },
                    except: pairs.map { .init(owner: $0.owner.reading, end: $0.end) }.distinct)
                // An object that stands for a link may be related to others than those that the ends become; what a link of
                // merged objects becomes, only the run knows.
                if own.contains(where: \.isJoin) || pairs.count < all.count
                    || pairs.contains(where: { $0.mayMeetOthers || $0.isOfSome })
                {
                    loss.pass = 0
                }
                losses.append(loss)
            }
        }
        return losses
    }

    /// The objects that a rule of a relationship or of its inverse relates.
    private struct Pair {
        /// The entity mapping with the rule.
        let rule: String
        let owner: Carrier
        let end: ChainLoss.Reading
        /// Whether the object at the end is read for each of its links.
        var isEndOfEach = false
        /// Whether one of several links stays.
        var isNarrow = false

        var mayMeetOthers: Bool {
            isEndOfEach || !owner.reading.mapping.unique.isEmpty || !end.mapping.unique.isEmpty
        }

        /// Whether a query or an index takes some of the links.
        var isOfSome: Bool { (owner.reading.conditions + end.conditions).contains(.constant(false)) }

        func relates(_ mapping: ResolvedEntityMapping, _ inverse: String?) -> Bool {
            let isOfEach = end.mapping.readsEveryObject || (isEndOfEach && end.mapping.filter == nil)
            return (end.mapping == mapping || (end.mapping.source == mapping.source && isOfEach))
                && end.conditions.allSatisfy { condition in inverse.map { condition.holds(whereThereIs: $0) } ?? false }
        }
    }

    private func pairs(_ link: Relationship, of entity: String) -> [Pair] {
        let own = own(link.name, of: entity).flatMap { carrier in
            let isNarrow = isNarrow(carrier, link)
            return owners(of: carrier).flatMap { owner in
                targets(of: carrier).map {
                    Pair(rule: carrier.reading.mapping.name, owner: owner, end: .init($0), isNarrow: isNarrow)
                }
            }
        }
        guard let inverse = old.inverse(of: link) else { return own }
        return own
            + old.concreteFamily(of: link.destinationEntity).inOrder(by: codeUnitOrder).flatMap { other in
                self.own(inverse.name, of: other).flatMap { carrier in
                    let ends = owners(of: carrier)
                    let isNarrow = isNarrow(carrier, inverse)
                    return targets(of: carrier).filter { $0.source == entity }.flatMap { mapping in
                        let owner = Carrier(reading: .init(mapping), destination: carrier.destination)
                        return ends.map {
                            Pair(
                                rule: carrier.reading.mapping.name, owner: owner, end: $0.reading,
                                isEndOfEach: carrier.isJoin, isNarrow: isNarrow)
                        }
                    }
                }
            }
    }

    /// A rule under the objects whose links it carries: one that makes an object of each link under those to which it
    /// relates these.
    private func owners(of carrier: Carrier) -> [Carrier] {
        let mapping = carrier.reading.mapping
        guard carrier.isJoin else { return [carrier] }
        let owners = mapping.relationships.filter(\.isOfSameObject).flatMap(\.mappings)
            .compactMap(step.entityMapping).filter { $0.source == mapping.source }
        guard !owners.isEmpty, owners.allSatisfy({ $0.filter != nil }) else { return [carrier] }
        return owners.map { Carrier(reading: .init($0), destination: carrier.destination, isJoin: true) }
    }

    /// Whether the objects of a rule keep one of several links.
    private func isNarrow(_ carrier: Carrier, _ link: Relationship) -> Bool {
        let target = carrier.related.flatMap { new.relationship($0.name, of: carrier.reading.mapping.destination) }
        return link.isToMany && target?.isToMany == false && !carrier.isJoin
    }

    /// The mappings to whose objects a rule relates.
    private func targets(of carrier: Carrier) -> [ResolvedEntityMapping] {
        (carrier.related?.mappings ?? []).compactMap { step.entityMapping(named: $0) }
    }

    /// A link has two names: that which its own rules carry in part is told, of two that with the keys in its own rows, else
    /// the first.
    private func isTold(_ link: Relationship, of entity: String) -> Bool {
        guard let inverse = old.inverse(of: link) else { return true }
        func rank(_ link: Relationship, _ declaring: String) -> (Int, Int, String) {
            let heirs = old.concreteFamily(of: declaring).filter { mappings[$0] != nil }
            let isWhole = heirs.allSatisfy { own(link.name, of: $0).cover(link.name, of: mappings[$0] ?? []) }
            return (isWhole ? 1 : 0, link.isToMany ? 1 : 0, "\(declaring).\(link.name)")
        }
        let other = old.declaringEntity(of: inverse.name, in: link.destinationEntity) ?? link.destinationEntity
        return rank(link, old.declaringEntity(of: link.name, in: entity) ?? entity) <= rank(inverse, other)
    }

    // MARK: One of several links

    /// Relationships of which the step keeps one of several links, since a side becomes to-one.
    private func toOne() -> [ChainLoss] {
        var sources: [PropertyKey: Set<String>] = [:]
        // Sides whose links another rule carries over completely.
        var kept: Set<PropertyKey> = []
        // Sides that are narrowed together with their inverse, or whose objects merge or stand for links: which links are lost,
        // the run decides.
        var open: Set<PropertyKey> = []
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
            if narrowed.isEmpty {
                // A rule may carry the links to some of the entities at the other end.
                let ends = Set(rule.mappings.compactMap { step.entityMapping(named: $0)?.source })
                let sides = [side] + (otherSide.map { [$0] } ?? [])
                if ends.isSuperset(of: old.concreteFamily(of: link.destinationEntity)) {
                    kept.formUnion(sides)
                } else {
                    open.formUnion(sides)
                }
            }
            let mayMerge = !([mapping] + rule.mappings.compactMap(step.entityMapping)).allSatisfy(\.unique.isEmpty)
            if narrowed.count > 1 || mayMerge || mayBeJoined(name, of: mapping.source) { open.formUnion(narrowed.keys) }
            sources.merge(narrowed) { $0.union($1) }
        }
        return sources.filter { !kept.contains($0.key) }.map { side, sources in
            loss(
                side.entity, side.property,
                of: sources.filter { old.entities[$0]?.isAbstract == false }.inOrder(by: codeUnitOrder),
                .relatedToOne(isExact: !open.contains(side)))
        }
        .filter { !$0.entities.isEmpty }
        .inOrder { codeUnitOrder($0.name, $1.name) }
    }

    /// Several relationships of the source whose links go into one that keeps one link of an object.
    ///
    /// Of those that two rules of one relationship contest it is known which link goes.
    private func shared(except contested: [ChainLoss]) -> [ChainLoss] {
        // By the mapping of the objects that keep one link.
        var places: [Place: [(origin: PropertyKey, property: StoredProperty)]] = [:]
        for (property, found) in carriers.all.inOrder(by: { codeUnitOrder($0.key.name, $1.key.name) }) {
            guard let name = property.property, let link = old.relationship(name, of: property.entity),
                let key = old.key(of: name, in: property.entity)
            else { continue }
            // A relationship of an entity to its own family has two ends, which may meet in one place.
            let inverse = old.inverseKey(of: link) ?? PropertyKey(key.entity, "")
            for carrier in found {
                let mapping = carrier.reading.mapping
                // Conditions say which link is taken.
                guard carrier.reading.conditions.isEmpty, !carrier.isJoin,
                    let rule = carrier.related,
                    let target = new.relationship(rule.name, of: mapping.destination),
                    let own = new.key(of: rule.name, in: mapping.destination)
                else { continue }
                if !target.isToMany {
                    for name in makers(ofObjectsOf: mapping) {
                        places[Place(key: own, mapping: name), default: []].append((key, property))
                    }
                }
                if let other = new.inverseKey(of: target), new.inverse(of: target)?.isToMany == false {
                    for name in rule.mappings.compactMap(step.entityMapping).flatMap(makers).distinct {
                        places[Place(key: other, mapping: name), default: []].append((inverse, property))
                    }
                }
            }
        }
        var losses: [ChainLoss] = []
        for links in places.inOrder(by: { codeUnitOrder($0.key.title, $1.key.title) }).map(\.value)
        where Set(links.map(\.origin)).count > 1 {
            let names = links.map(\.property.name).distinct
            if contested.contains(where: { names.contains($0.name) }) { continue }
            for link in links where !losses.contains(where: { $0.name == link.property.name }) {
                let others = links.filter { $0.origin != link.origin }.map(\.property.name).distinct
                losses.append(
                    loss(
                        link.property.entity, link.property.property ?? "", of: [link.property.entity],
                        .shared(with: others)))
            }
        }
        return losses
    }

    /// The entity mappings whose objects a mapping makes or may find by `unique`.
    private func makers(ofObjectsOf mapping: ResolvedEntityMapping) -> [String] {
        if mapping.unique.isEmpty { return [mapping.name] }
        return step.entityMappings.filter { $0.destination == mapping.destination }.map(\.name)
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
        for overruled in step.overruled where !step.carriesElsewhere(overruled) && !isContained(overruled) {
            guard let name = overruled.rule.sourceRelationship,
                let mapping = step.entityMapping(named: overruled.mapping),
                let target = step.entityMapping(named: overruled.target)
            else { continue }
            let entity = old.declaringEntity(of: name, in: overruled.source) ?? overruled.source
            let known = losses.firstIndex { $0.entity == entity && $0.property == name }
            if known == nil { losses.append(loss(entity, name, of: [], .overruled(by: overruled.inverse))) }
            let index = known ?? losses.count - 1
            if !losses[index].entities.contains(overruled.source) { losses[index].entities.append(overruled.source) }
            // Which of the links another rule carries, only the run knows.
            let sides = carriers.sides(of: StoredProperty(entity: overruled.source, property: name))
            if sides.contains(where: { carriers.all[$0] != nil }) { losses[index].pass = 0 }
            losses[index].objects.links = losses[index].objects.links ?? .init()
            losses[index].objects.links?.of.append(.init(owner: .init(mapping), end: .init(target)))
        }
        return losses
    }

    /// Whether the rule that fills the inverse relates the objects of the overruled one among others.
    private func isContained(_ overruled: OverruledRule) -> Bool {
        guard let name = overruled.rule.sourceRelationship,
            let target = step.entityMapping(named: overruled.target),
            let inverse = old.relationship(name, of: overruled.source)?.inverseName
        else { return false }
        return own(inverse, of: target.source).contains { carrier in
            carrier.reading.mapping.name == target.name && carrier.reading.conditions.isEmpty && !carrier.isJoin
                && "\(carrier.destination.entity).\(carrier.destination.property ?? "")" == overruled.inverse
        }
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
            // Which objects `unique` finds, only the run knows.
            let areOwn = winners.allSatisfy { $0.rule.mappings.contains(mapping.name) }
            let isExact =
                areOwn && mapping.keepsEveryObject && !mayBeJoined(name, of: mapping.source)
                && old.relationship(name, of: mapping.source)?.isToMany == false
                && rule.mappings.allSatisfy { step.entityMapping(named: $0)?.keepsEveryObject == true }
            // In a one-to-one, the objects that lose their link also depend on those at the other end.
            let readings =
                inverse.isToMany && areOwn
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
        return others.filter { other in other.rule.mappings.contains { makes($0, objectsOf: mapping) } }
    }

    /// Whether an entity mapping makes a mapping's objects, or may find them by `unique`.
    private func makes(_ name: String, objectsOf mapping: ResolvedEntityMapping) -> Bool {
        guard name != mapping.name, let other = step.entityMapping(named: name) else { return name == mapping.name }
        return !other.unique.isEmpty && other.destination == mapping.destination
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
        // Of two equal rules that of one side stands for both.
        func isOfBothSides(_ rule: ResolvedRelationship, of other: ResolvedEntityMapping) -> Bool {
            let model = destination.model
            let inverse = model.relationship(rule.name, of: other.destination).flatMap { model.inverse(of: $0) }
            return inverse.map { $0.renamingIdentifier ?? $0.name } == name
        }
        func isSuccessor(_ other: ResolvedEntityMapping, _ one: ResolvedEntityMapping) -> Bool {
            // What merging objects loses is told by itself.
            other.source == one.source
                && (other.rank >= one.rank || (!other.unique.isEmpty && other.iteration == nil))
        }
        return entityMappings.contains { other in
            other.relationships.contains { rule in
                rule.mappings.compactMap { entityMapping(named: $0) }.contains { end in
                    if rule.sourceRelationship == name {
                        return isSuccessor(other, mapping) && isSuccessor(end, target)
                            && (!isSame(other, end) || rule.name != overruled.rule.name)
                    }
                    return rule.sourceRelationship != nil && rule.sourceRelationship == relationship.inverseName
                        && isSuccessor(other, target) && isSuccessor(end, mapping)
                        && (!isSame(end, other) || isOfBothSides(rule, of: other))
                }
            }
        }
    }
}

extension ResolvedEntityMapping {
    /// How much of its source objects a mapping carries: the objects themselves, one object each, or parts.
    fileprivate var rank: Int { mayKeepPrimaryKeys ? 2 : isOneToOne ? 1 : 0 }
}
