internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The relationships of a step's destination that keep one link of each object, with the rules that may bring several.
///
/// Those are the links of an object that had several, of two relationships, or of objects that `unique` merges.
struct CrowdedLinks {
    /// The objects of an entity mapping as owners of one link each.
    private struct Place: Hashable {
        var key: PropertyKey
        var mapping: String
        var title: String { "\(key.title) \(mapping)" }
    }

    /// Links that a rule brings to such objects.
    private struct Arrival {
        var rule: Rule
        /// The objects that keep one link.
        var mapping: ResolvedEntityMapping
        /// The relationship whose links the rule carries; nil if it chooses links, or takes others.
        var property: StoredProperty?
        /// The same relationship as the objects at this end have it.
        var side: PropertyKey
        var entity: String
        /// The end of the relationship: both ends of one may meet.
        var origin: PropertyKey
        var isFromInverse: Bool
        var hasSeveral: Bool
        /// Whether objects at the other end also keep one of several links.
        var isCrowdedTwice: Bool
    }

    typealias Rule = (mapping: ResolvedEntityMapping, rule: ResolvedRelationship)

    private let carriers: StepCarriers
    private var places: [Place: [Arrival]] = [:]
    /// The rules whose links may meet others, by what they carry.
    private var crowded: [StoredProperty: Set<PropertyKey>] = [:]

    private var step: ResolvedStep { carriers.step }
    private var old: ManagedObjectModel { carriers.model }
    private var new: ManagedObjectModel { step.destination.model }

    init(_ carriers: StepCarriers) {
        self.carriers = carriers
        var sources: [PropertyKey: [StoredProperty]] = [:]
        for (property, found) in carriers.all where old.relationship(property) != nil {
            for carrier in found where carrier.reading.conditions.isEmpty && !carrier.isJoin {
                sources[Self.key(carrier.reading.mapping, carrier.destination.property), default: []].append(property)
            }
        }
        for mapping in carriers.step.entityMappings {
            for rule in mapping.relationships where !rule.mappings.isEmpty {
                let properties = sources[Self.key(mapping, rule.name)] ?? []
                for property in properties.isEmpty ? [nil] : properties.map(Optional.some) {
                    add(property, (mapping, rule))
                }
            }
        }
        for arrivals in places.values {
            for arrival in arrivals where reason(of: arrival, among: arrivals) != nil {
                guard let property = arrival.property else { continue }
                crowded[property, default: []].insert(Self.key(arrival.rule.mapping, arrival.rule.rule.name))
            }
        }
    }

    private static func key(_ mapping: ResolvedEntityMapping, _ rule: String?) -> PropertyKey {
        PropertyKey(mapping.name, rule ?? "")
    }

    private mutating func add(_ property: StoredProperty?, _ rule: Rule) {
        guard let target = new.relationship(rule.rule.name, of: rule.mapping.destination),
            let key = new.key(of: rule.rule.name, in: rule.mapping.destination)
        else { return }
        let link = property.flatMap(old.relationship)
        let own =
            property.flatMap { old.key(of: $0.property ?? "", in: $0.entity) }
            ?? Self.key(rule.mapping, rule.rule.name)
        let inverse = link.flatMap(old.inverseKey)
        let isOne = !target.isToMany
        // A to-many relationship without inverse is a key in its destination's table, which leads to one object.
        let isInverseOne = new.inverse(of: target).map { !$0.isToMany } ?? target.isToMany
        // Without inverse, any number of objects may have a key to the same one.
        let several = (link?.isToMany == true, link.map { old.inverse(of: $0)?.isToMany ?? !$0.isToMany } == true)
        var arrival = Arrival(
            rule: rule, mapping: rule.mapping, property: property, side: own, entity: rule.mapping.source, origin: own,
            isFromInverse: false, hasSeveral: several.0, isCrowdedTwice: isOne && isInverseOne && several.0 && several.1
        )
        if isOne { add(arrival, to: key) }
        guard isInverseOne else { return }
        arrival.isFromInverse = true
        arrival.hasSeveral = several.1
        arrival.origin = inverse ?? PropertyKey(own.entity, "")
        for mapping in rule.rule.mappings.compactMap(step.entityMapping) {
            arrival.mapping = mapping
            if let inverse { (arrival.side, arrival.entity) = (inverse, mapping.source) }
            add(arrival, to: new.inverseKey(of: target) ?? key)
        }
    }

    /// An arrival at the mapping's objects, and at those that it may find by `unique`.
    private mutating func add(_ arrival: Arrival, to key: PropertyKey) {
        let mapping = arrival.mapping
        for maker in step.entityMappings
        where maker.name == mapping.name || (!mapping.unique.isEmpty && maker.destination == mapping.destination) {
            places[Place(key: key, mapping: maker.name), default: []].append(arrival)
        }
    }

    // MARK: Reasons

    /// Why links of an arrival may not stay; nil if all do.
    private func reason(of arrival: Arrival, among all: [Arrival]) -> ChainLoss.Cause? {
        let rivals = all.filter { $0.origin != arrival.origin }
        let winners = rivals.filter { wins($0, over: arrival) }
        if let last = winners.last {
            let inverse = "\(last.rule.mapping.destination).\(last.rule.rule.name)"
            return .contested(inverse: inverse, winners: winners.map(\.rule.mapping.name).distinct)
        }
        let equals = rivals.filter { $0.property != nil && !wins(arrival, over: $0) }.compactMap(\.property?.name)
        if !equals.isEmpty { return .shared(with: equals.distinct) }
        if !arrival.mapping.unique.isEmpty {
            // Without inverse, the merged objects are not those with the property.
            let isOwn = arrival.entity == arrival.mapping.source
            return .merged(.init(arrival.mapping, in: step, isOwn: isOwn))
        }
        // Of an object that an earlier mapping finds, that one's link comes first.
        let finder = all.first { !$0.mapping.unique.isEmpty && $0.mapping.position < arrival.mapping.position }
        if let finder { return .merged(.init(finder.mapping, in: step, isOwn: false)) }
        return arrival.hasSeveral ? .relatedToOne : nil
    }

    /// Whether a rule of the inverse replaces the link of an automatic rule, as the later one.
    private func wins(_ arrival: Arrival, over other: Arrival) -> Bool {
        func last(_ rule: Rule) -> (Int, String) {
            let key = new.key(of: rule.rule.name, in: rule.mapping.destination)
            let last = step.entityMappings.last { mapping in
                mapping.relationships.contains {
                    !$0.mappings.isEmpty && new.key(of: $0.name, in: mapping.destination) == key
                }
            }
            return (last?.position ?? 0, rule.rule.name)
        }
        return arrival.isFromInverse && !other.isFromInverse && other.rule.rule.isAutomatic && !step.hasPolicies
            && last(arrival.rule) > last(other.rule)
    }

    /// Whether links of a property that a rule carries meet others.
    func mayMeet(_ property: StoredProperty, by carrier: Carrier) -> Bool {
        carrier.reading.conditions.isEmpty && !carrier.isJoin
            && crowded[property]?.contains(Self.key(carrier.reading.mapping, carrier.destination.property)) == true
    }

    /// Whether a rule keeps all links of a property, and whether another one than an arrival's may keep some.
    private func keeps(_ property: StoredProperty, besides arrival: Arrival) -> (all: Bool, some: Bool) {
        guard let link = old.relationship(property) else { return (false, false) }
        var (ends, keepsSome): (Set<String>, Bool) = ([], false)
        for side in carriers.sides(of: property) {
            for carrier in carriers.all[side] ?? [] {
                let rule = Self.key(carrier.reading.mapping, carrier.destination.property)
                keepsSome = keepsSome || rule != Self.key(arrival.rule.mapping, arrival.rule.rule.name)
                if mayMeet(side, by: carrier) { continue }
                let targets = carrier.isJoin ? [] : carriers.targets(of: carrier).map(\.source)
                // A rule of the inverse keeps the links of its own objects.
                ends.formUnion(side == property ? targets : targets.contains(property.entity) ? [side.entity] : [])
            }
        }
        let others = old.concreteFamily(of: link.destinationEntity).filter { carriers.mappings[$0] != nil }
        return (others.isSubset(of: ends), keepsSome)
    }

    /// The losses of links that no other rule keeps.
    func losses(_ loss: (PropertyKey, String, ChainLoss.Cause) -> ChainLoss) -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for arrivals in places.inOrder(by: { codeUnitOrder($0.key.title, $1.key.title) }).map(\.value) {
            for arrival in arrivals {
                guard let property = arrival.property, let cause = reason(of: arrival, among: arrivals),
                    case let kept = keeps(property, besides: arrival), !kept.all
                else { continue }
                var loss = loss(arrival.side, arrival.entity, cause)
                let ends = arrival.rule.rule.mappings.compactMap(step.entityMapping) + [arrival.rule.mapping]
                let merging = ends.filter { !$0.unique.isEmpty || $0.policy != nil }
                loss.isBound = kept.some || arrival.isCrowdedTwice || !merging.isEmpty
                loss.isOpen = arrival.isCrowdedTwice || merging.contains { $0.name != arrival.mapping.name }
                if case .contested(_, let winners) = cause {
                    loss.isBound = true
                    loss.objects.of = readings(of: arrivals.filter { winners.contains($0.rule.mapping.name) }, arrival)
                }
                guard
                    let known = losses.firstIndex(where: {
                        $0.name == loss.name
                            && ($0.cause == cause || ($0.entities == loss.entities && $0.cause.isLike(cause)))
                    })
                else {
                    losses.append(loss)
                    continue
                }
                losses[known].isBound = losses[known].isBound || loss.isBound
                losses[known].isOpen = losses[known].isOpen || loss.isOpen
                losses[known].entities = (losses[known].entities + loss.entities).distinct
                if losses[known].objects != loss.objects { losses[known].objects = .init() }
            }
        }
        return losses.inOrder { codeUnitOrder($0.name, $1.name) }
    }

    /// The objects to which later rules give another link; none if these do not show which.
    private func readings(of winners: [Arrival], _ loser: Arrival) -> [ChainLoss.Reading] {
        let readings = winners.compactMap { winner in
            // In a one-to-one, the objects that lose their link also depend on those at the other end.
            let isMany = new.relationship(winner.rule.rule.name, of: winner.rule.mapping.destination)?.isToMany
            return isMany == true && winner.mapping.name == loser.mapping.name
                ? winner.rule.rule.sourceRelationship.map { ChainLoss.Reading(winner.rule.mapping, path: [$0]) } : nil
        }
        return readings.count == winners.count ? readings : []
    }
}

extension ChainLoss.Cause {
    /// Whether both say the same beside other rules.
    fileprivate func isLike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.shared, .shared), (.merged, .merged), (.contested, .contested): true
        default: false
        }
    }
}
