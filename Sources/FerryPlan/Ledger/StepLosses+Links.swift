internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

// The links of which a step keeps a part. A relationship and its inverse are stored once: what is lost is told of one of
// both names.
extension StepLosses {
    func links(isInferred: Bool) -> [ChainLoss] {
        let crowded = CrowdedLinks(carriers)
        let replaced = overruled(crowded)
        let meeting = crowded.losses { side, entity, cause in
            // Of the entities that have the relationship, one may merge its objects.
            if case .merged = cause { return loss(entity, side.property, of: entity, cause) }
            return loss(side.entity, side.property, of: entity, cause)
        }.filter { loss in !replaced.contains { $0.name == loss.name } }
        return replaced + meeting + (isInferred ? [] : carriedInPart(crowded))
    }

    private var old: ManagedObjectModel { carriers.model }
    private var mappings: [String: [ResolvedEntityMapping]] { carriers.mappings }

    private func own(_ name: String, of entity: String) -> [Carrier] {
        carriers.all[StoredProperty(entity: entity, property: name)] ?? []
    }

    // MARK: Objects that no rule reads

    /// Links whose two objects live on while no rule of either side relates those.
    private func carriedInPart(_ crowded: CrowdedLinks) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for entity in mappings.keys.sorted() {
            let owners = mappings[entity] ?? []
            for link in old.relationships(of: entity) where !link.isTransient && isTold(link, of: entity) {
                let property = StoredProperty(entity: entity, property: link.name)
                let all = pairs(link, of: entity, crowded)
                // Where a rule keeps one of several links, those of the others are lost beside rules that keep all.
                let pairs = all.contains { !$0.isCrowded } ? all.filter { !$0.isCrowded } : all
                let others = old.concreteFamily(of: link.destinationEntity).inOrder(by: codeUnitOrder)
                let ends = others.flatMap { (mappings[$0] ?? []).carriers }
                let isWhole = ends.allSatisfy { end in
                    pairs.filter { $0.relates(end, link.inverseName) }.map(\.owner).cover(link.name, of: owners)
                }
                guard !isWhole, !carriers.continuations(of: property).isEmpty else { continue }
                let own = own(link.name, of: entity)
                let readers = (own.isEmpty ? pairs.map(\.rule) : own.map(\.reading.mapping.name)).distinct
                let policy = carriers.policy(of: property).map { ChainLoss.Cause.leftToPolicy($0) }
                var loss = loss(entity, link.name, of: entity, policy ?? .carriedInPart(by: readers))
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
        var isOfInverse = false
        /// Whether one of several links stays.
        var isCrowded: Bool

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

    private func pairs(_ link: Relationship, of entity: String, _ crowded: CrowdedLinks) -> [Pair] {
        let property = StoredProperty(entity: entity, property: link.name)
        let own = own(link.name, of: entity).flatMap { carrier in
            let isCrowded = crowded.mayMeet(property, by: carrier)
            return owners(of: carrier).flatMap { owner in
                carriers.targets(of: carrier).map {
                    Pair(rule: carrier.reading.mapping.name, owner: owner, end: .init($0), isCrowded: isCrowded)
                }
            }
        }
        guard let inverse = old.inverse(of: link) else { return own }
        return own
            + old.concreteFamily(of: link.destinationEntity).inOrder(by: codeUnitOrder).flatMap { other in
                self.own(inverse.name, of: other).flatMap { carrier in
                    let ends = owners(of: carrier)
                    let isCrowded = crowded.mayMeet(.init(entity: other, property: inverse.name), by: carrier)
                    return carriers.targets(of: carrier).filter { $0.source == entity }.flatMap { mapping in
                        let owner = Carrier(reading: .init(mapping), destination: carrier.destination)
                        return ends.map {
                            Pair(
                                rule: carrier.reading.mapping.name, owner: owner, end: $0.reading,
                                isEndOfEach: carrier.isJoin, isOfInverse: true, isCrowded: isCrowded)
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

    // MARK: Two rules for one relationship

    /// Relationships whose links are lost because another rule fills the inverse.
    private func overruled(_ crowded: CrowdedLinks) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for overruled in step.overruled {
            guard let name = overruled.rule.sourceRelationship, !isCarriedElsewhere(overruled, crowded) else {
                continue
            }
            let entity = old.declaringEntity(of: name, in: overruled.source) ?? overruled.source
            if let known = losses.firstIndex(where: { $0.entity == entity && $0.property == name }) {
                losses[known].entities = (losses[known].entities + [overruled.source]).distinct
            } else {
                losses.append(loss(entity, name, of: overruled.source, .overruled(by: overruled.inverse)))
            }
        }
        return losses
    }

    /// Whether a rule carries the links that an overruled one does not, for objects that stand for the same ones.
    private func isCarriedElsewhere(_ overruled: OverruledRule, _ crowded: CrowdedLinks) -> Bool {
        guard let mapping = step.entityMapping(named: overruled.mapping), let name = overruled.rule.sourceRelationship,
            let target = step.entityMapping(named: overruled.target),
            let link = old.relationship(name, of: mapping.source)
        else { return false }
        func stands(_ other: ResolvedEntityMapping, for one: ResolvedEntityMapping) -> Bool {
            // What merging objects loses is told by itself.
            other.source == one.source
                && (other.rank >= one.rank || (!other.unique.isEmpty && other.iteration == nil))
        }
        return pairs(link, of: mapping.source, crowded).contains { pair in
            let owner = pair.owner.reading
            guard !pair.owner.isJoin, !pair.isEndOfEach, (owner.conditions + pair.end.conditions).isEmpty,
                stands(owner.mapping, for: mapping), stands(pair.end.mapping, for: target)
            else { return false }
            // Of the same objects, the rule of the inverse carries the links under the same name.
            guard pair.isOfInverse, owner.mapping.name == mapping.name, pair.end.mapping.name == target.name else {
                return true
            }
            let new = step.destination.model
            let carried = new.relationship(pair.owner.destination.property ?? "", of: pair.owner.destination.entity)
            let inverse = carried.flatMap(new.inverse)
            return inverse.map { $0.renamingIdentifier ?? $0.name } == name
                || pair.owner.destination.name == overruled.inverse
        }
    }
}

extension ResolvedEntityMapping {
    /// How much of its source objects a mapping carries: the objects themselves, one object each, or parts.
    fileprivate var rank: Int { mayKeepPrimaryKeys ? 2 : isOneToOne ? 1 : 0 }
}
