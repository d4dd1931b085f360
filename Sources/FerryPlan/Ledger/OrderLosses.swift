internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

extension Ledger {
    /// The orders of the store's relationships that the chain loses while the links stay.
    ///
    /// An order is traced under its name in each version, so that only orders of the store are reported.
    func lostOrders() -> [ChainLoss] {
        // The orders of the store that each order of a version continues.
        var held: [PropertyKey: Set<PropertyKey>] = [:]
        for entity in model.concreteEntities {
            for relationship in model.relationships(of: entity)
            where relationship.isToMany && relationship.isOrdered && model.inverse(of: relationship) != nil {
                let side = PropertyKey(entity, relationship.name)
                held[side] = [side]
            }
        }
        var lost: [PropertyKey: ChainLoss] = [:]
        for (index, carriers) in carriers.enumerated() where !held.isEmpty {
            let orders = StepOrders(carriers)
            var next: [PropertyKey: Set<PropertyKey>] = [:]
            for (owner, origins) in held {
                for side in orders.kept[owner] ?? [] { next[side, default: []].formUnion(origins) }
                guard let cause = orders.loss(of: owner) else { continue }
                for origin in origins {
                    let side = model.key(of: origin.property, in: origin.entity) ?? origin
                    var loss =
                        lost[side]
                        ?? ChainLoss(
                            entity: side.entity, property: side.property, entities: [], version: versions[index],
                            step: index + 1, cause: cause)
                    loss.entities = Set(loss.entities + [origin.entity]).inOrder(by: codeUnitOrder)
                    if cause == .unordered, loss.step == index + 1 { loss.cause = cause }
                    lost[side] = loss
                }
            }
            held = next
        }
        return lost.values.inOrder { codeUnitOrder($0.name, $1.name) }
    }
}

/// The outcome of the orders of a step's source, by ordered relationships of one entity's objects.
private struct StepOrders {
    /// The relationships in which orders continue.
    private(set) var kept: [PropertyKey: Set<PropertyKey>] = [:]
    /// What becomes of the order of an owner's objects of one entity, since several rules may fill a relationship; nil if
    /// it stays, or a migration policy decides about it.
    private var outcomes: [PropertyKey: [String: ChainLoss.Cause?]] = [:]
    private let carriers: StepCarriers
    /// The rules that fill a relationship of the destination or its inverse.
    private var filling: [Set<PropertyKey>: [(key: PropertyKey, passesOnOrders: Bool)]] = [:]

    private var step: ResolvedStep { carriers.step }

    init(_ carriers: StepCarriers) {
        self.carriers = carriers
        for mapping in step.entityMappings {
            for rule in mapping.relationships where !rule.mappings.isEmpty {
                guard let ends = ends(of: rule, mapping) else { continue }
                filling[ends.pair, default: []].append(
                    (ends.key, CopiedOrders.arePassedOn(by: rule, of: mapping, step)))
            }
        }
        for mapping in step.entityMappings {
            for rule in mapping.relationships { add(rule, of: mapping) }
        }
    }

    /// Why an order is lost; nil if nothing of it is, or all links are.
    func loss(of owner: PropertyKey) -> ChainLoss.Cause? {
        if let causes = outcomes[owner]?.values.compactMap(\.self) {
            return causes.contains(.unordered) ? .unordered : causes.first
        }
        // No rule passes it on.
        let property = StoredProperty(entity: owner.entity, property: owner.property)
        let own = carriers.all[property] ?? []
        if carriers.policy(of: property) != nil || own.contains(where: hasPositions) { return nil }
        let found = carriers.sides(of: property).flatMap { carriers.all[$0] ?? [] }
        let targets = found.compactMap { step.destination.model.relationship($0.destination) }
        if targets.contains(where: { $0.isToMany && $0.isOrdered }) { return .orderedAnew }
        // A to-one relationship has no order; its other links are a loss of their own.
        return targets.contains(where: \.isToMany) || found.contains(where: \.isJoin) ? .unordered : nil
    }

    /// Whether the objects that stand for links have their positions, in an attribute or in an order of their own.
    private func hasPositions(_ carrier: Carrier) -> Bool {
        let mapping = carrier.reading.mapping
        guard carrier.isJoin, let iteration = mapping.iteration else { return false }
        let position = iteration.position.map { Expression.variable($0) }
        let model = step.destination.model
        return mapping.attributes.contains { $0.expression != nil && $0.expression == position }
            || mapping.relationships.filter(\.isOfSameObject).contains { rule in
                let owners = model.relationship(rule.name, of: mapping.destination).flatMap(model.inverse)
                return owners.map { $0.isToMany && $0.isOrdered } == true
            }
    }

    /// The filled relationship and its inverse, its key, and the keys of both.
    private func ends(
        of rule: ResolvedRelationship, _ mapping: ResolvedEntityMapping
    ) -> (target: Relationship, inverse: Relationship?, key: PropertyKey, pair: Set<PropertyKey>)? {
        let model = step.destination.model
        guard let target = model.relationship(rule.name, of: mapping.destination),
            let key = model.key(of: rule.name, in: mapping.destination)
        else { return nil }
        let pair = Set([key, model.inverseKey(of: target)].compactMap { $0 })
        return (target, model.inverse(of: target), key, pair)
    }

    private mutating func add(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) {
        let old = step.source.model
        guard let name = rule.sourceRelationship, let link = old.relationship(name, of: mapping.source),
            let ends = ends(of: rule, mapping)
        else { return }
        let rules = filling[ends.pair] ?? []
        let areCopied =
            CopiedOrders.arePassedOn(by: rule, of: mapping, step)
            && (step.hasPolicies || rules.allSatisfy(\.passesOnOrders))
        // From the owners' side their objects come in order, whatever keys they get.
        let comeInOrder = areCopied || rules.allSatisfy { $0.key == ends.key }
        let inverse = old.inverse(of: link)
        for target in rule.mappings.compactMap({ step.entityMapping(named: $0) }) {
            let hasPolicy = mapping.policy != nil || target.policy != nil
            if link.isToMany, link.isOrdered {
                add(
                    (mapping, link.name), of: target.source, to: ends.target, isKept: comeInOrder, hasPolicy: hasPolicy)
            }
            if let inverse, inverse.isToMany, inverse.isOrdered {
                add(
                    (target, inverse.name), of: mapping.source, to: ends.inverse, isKept: areCopied,
                    hasPolicy: hasPolicy)
            }
        }
    }

    private mutating func add(
        _ owner: (mapping: ResolvedEntityMapping, name: String), of member: String, to relationship: Relationship?,
        isKept: Bool, hasPolicy: Bool
    ) {
        // A to-one relationship has no order; its other links are a loss of their own.
        if let relationship, !relationship.isToMany { return }
        let side = PropertyKey(owner.mapping.source, owner.name)
        var cause: ChainLoss.Cause?
        if let relationship, relationship.isOrdered, isKept {
            kept[side, default: []].insert(PropertyKey(owner.mapping.destination, relationship.name))
        } else if !hasPolicy {
            // Positions follow from row order, since other objects or other rules take part.
            cause = relationship?.isOrdered == true ? .orderedAnew : .unordered
        }
        let known = outcomes[side]?[member]
        let isSettled = known.map { $0 == nil || cause == .orderedAnew } == true
        if !isSettled { outcomes[side, default: [:]][member] = .some(cause) }
    }
}
