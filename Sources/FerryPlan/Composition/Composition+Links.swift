internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

// The relationships of a composed step, found for each pair of entity mappings whose objects are related.
//
// Each step names a pair from one of its two sides; the composed step uses the side of the first step.
extension Composition {
    /// By position in the composed step, in name order.
    func relationships() throws(StepObstacle) -> [Int: [ResolvedRelationship]] {
        try checkLimits()
        var found: [Int: [String: ResolvedRelationship]] = [:]
        for pair in pairs {
            for rule in pair.second.relationships {
                for other in pairs where rule.mappings.contains(other.second.name) {
                    try link(pair, rule, other, in: &found)
                }
            }
        }
        let positions = Dictionary(pairs.map { ($0.name, $0.position) }, uniquingKeysWith: { first, _ in first })
        return found.mapValues { byName in
            byName.inOrder { codeUnitOrder($0.key, $1.key) }.map { _, found in
                var relationship = found
                relationship.mappings = Set(found.mappings).inOrder {
                    positions[$0, default: 0] < positions[$1, default: 0]
                }
                return relationship
            }
        }
    }

    private func add(
        _ name: String, of holder: Pair, to target: Pair, from: Expression,
        in found: inout [Int: [String: ResolvedRelationship]]
    ) throws(StepObstacle) {
        var known =
            found[holder.position]?[name]
            ?? ResolvedRelationship(name: name, mappings: [], from: from, isAutomatic: true)
        guard known.from == from else {
            throw StepObstacle("\(holder.second.destination).\(name) comes from several relationships")
        }
        known.mappings.append(target.name)
        found[holder.position, default: [:]][name] = known
    }

    // MARK: One pair

    /// Composes the rules of both steps for two mappings, if the first step relates them.
    private func link(
        _ pair: Pair, _ rule: ResolvedRelationship, _ other: Pair,
        in found: inout [Int: [String: ResolvedRelationship]]
    ) throws(StepObstacle) {
        guard let name = rule.sourceRelationship,
            let between = middleModel.relationship(name, of: pair.second.source),
            let new = destinationModel.relationship(rule.name, of: pair.second.destination)
        else { throw StepObstacle("\(pair.second.destination).\(rule.name) is filled over a path") }
        guard let before = before(pair.first, between, other.first) else { return }
        guard before.rule.isAutomatic, rule.isAutomatic, let old = before.rule.sourceRelationship,
            let origin = sourceModel.relationship(old, of: before.holder.source)
        else { throw StepObstacle("\(pair.second.source).\(name) of version \(middle.name) is filled by its own rule") }
        let shape = LinkShape(origin, in: sourceModel)
        try checkLinks(
            between, of: pair.second.source, before.isInverse ? shape.mirrored : shape,
            LinkShape(between, in: middleModel), LinkShape(new, in: destinationModel))
        guard before.isInverse else {
            return try add(rule.name, of: pair, to: other, from: before.rule.from, in: &found)
        }
        if let inverse = destinationModel.inverse(of: new) {
            return try add(inverse.name, of: other, to: pair, from: before.rule.from, in: &found)
        }
        // Without a name on the new side, the source's own inverse must lead back.
        guard let back = origin.inverseName else {
            throw StepObstacle("\(pair.second.destination).\(rule.name) is known only from its other side")
        }
        try add(rule.name, of: pair, to: other, from: .keyPath(.variable("source"), [.key(back)]), in: &found)
    }

    /// A rule of the first step; `isInverse` if it belongs to the other mapping of the pair.
    private func before(
        _ own: ResolvedEntityMapping, _ relationship: Relationship, _ other: ResolvedEntityMapping
    ) -> (holder: ResolvedEntityMapping, rule: ResolvedRelationship, isInverse: Bool)? {
        if let rule = own.rule(relationship.name, to: other) { return (own, rule, false) }
        guard let inverse = middleModel.inverse(of: relationship)?.name,
            let rule = other.rule(inverse, to: own)
        else { return nil }
        return (other, rule, true)
    }

    // MARK: Limits

    /// Requires equal limits of a relationship in all three versions.
    private func checkLimits() throws(StepObstacle) {
        guard !isInferred else { return }
        for step in [first, second] {
            for mapping in step.resolved.entityMappings {
                for new in step.resolved.destination.model.relationships(of: mapping.destination)
                where !new.isTransient && limits(of: new) != (true, 0, 0) {
                    guard let old = origin(of: new, mapping, step.resolved), limits(of: old) == limits(of: new) else {
                        throw StepObstacle(
                            "version \(step.resolved.destination.name) limits \(mapping.destination).\(new.name)")
                    }
                }
            }
        }
    }

    /// How many objects a relationship must have; by default any number.
    private func limits(of relationship: Relationship) -> (isOptional: Bool, least: Int, most: Int) {
        let isBounded = relationship.isToMany && relationship.maxCount > 1 && relationship.maxCount < Int(Int32.max)
        let least = relationship.isOptional && relationship.minCount <= 1 ? 0 : relationship.minCount
        return (relationship.isOptional, least, isBounded ? relationship.maxCount : 0)
    }

    /// The source relationship that a relationship continues, by its own rule or the rule of its inverse.
    private func origin(
        of new: Relationship, _ mapping: ResolvedEntityMapping, _ step: ResolvedStep
    ) -> Relationship? {
        let model = step.source.model
        if let rule = mapping.relationships.first(where: { $0.name == new.name && $0.isAutomatic }) {
            return rule.sourceRelationship.flatMap { model.relationship($0, of: mapping.source) }
        }
        guard let inverse = step.destination.model.inverse(of: new)?.name else { return nil }
        for other in step.entityMappings {
            guard let rule = other.rule(inverse, to: mapping), rule.isAutomatic, let name = rule.sourceRelationship,
                let old = model.relationship(name, of: other.source)
            else { continue }
            return model.inverse(of: old)
        }
        return nil
    }
}

/// Cardinality and order of a relationship, seen from one of its sides.
struct LinkShape {
    struct Side {
        var isToMany: Bool
        var isOrdered: Bool
    }

    /// The related objects of one object of the own side.
    var own: Side
    /// The objects of the own side of one related object.
    var other: Side
    /// Whether both sides hold a foreign key.
    var isOneToOne: Bool

    init(_ relationship: Relationship, in model: ManagedObjectModel) {
        own = Side(isToMany: relationship.isToMany, isOrdered: relationship.isOrdered)
        let inverse = model.inverse(of: relationship)
        // Without an inverse a to-one stores its key with its owner, a to-many with the related object.
        other =
            inverse.map { Side(isToMany: $0.isToMany, isOrdered: $0.isOrdered) }
            ?? Side(isToMany: !relationship.isToMany, isOrdered: false)
        isOneToOne = inverse.map { !$0.isToMany && !relationship.isToMany } ?? false
    }

    var mirrored: LinkShape {
        var shape = self
        swap(&shape.own, &shape.other)
        return shape
    }

    var isOrdered: Bool { own.isOrdered || other.isOrdered }
    /// Whether a join table stores the links.
    var isJoined: Bool { own.isToMany && other.isToMany }

    func isStored(like shape: LinkShape) -> Bool {
        own.isToMany == shape.own.isToMany && other.isToMany == shape.other.isToMany
    }

    func hasOrders(of shape: LinkShape) -> Bool {
        own.isOrdered == shape.own.isOrdered && other.isOrdered == shape.other.isOrdered
    }

    func isNarrowed(to shape: LinkShape) -> Bool {
        own.isToMany && !shape.own.isToMany || other.isToMany && !shape.other.isToMany
    }
}

extension Composition {
    /// Checks that a relationship whose links both steps carry over gets the same ones with and without the middle
    /// version.
    ///
    /// - Parameters:
    ///   - between: The relationship of the middle version.
    ///   - entity: The entity that has it there.
    ///   - old: The relationship in the source version, from the same side.
    ///   - shape: In the middle version.
    ///   - new: In the destination version.
    /// - Throws: ``StepObstacle``.
    private func checkLinks(
        _ between: Relationship, of entity: String, _ old: LinkShape, _ shape: LinkShape, _ new: LinkShape
    ) throws(StepObstacle) {
        func obstacle(_ what: String) -> StepObstacle {
            StepObstacle("\(entity).\(between.name) of version \(middle.name) \(what)")
        }
        guard !old.isNarrowed(to: shape), !shape.isNarrowed(to: new) else {
            throw obstacle("keeps only one of several related objects")
        }
        // A version with one key keeps one of the two keys of a one-to-one, and these may disagree.
        if old.isOneToOne, !shape.isOneToOne, !shape.isStored(like: new) {
            throw obstacle("is stored in several forms")
        }
        // Positions are carried over, or made once from the same objects in the same order.
        guard new.isOrdered else { return }
        if old.isOrdered {
            guard old.hasOrders(of: shape), shape.hasOrders(of: new) else { throw obstacle("changes its order") }
            return
        }
        guard !shape.isOrdered || shape.hasOrders(of: new) else { throw obstacle("changes its order") }
        let owner = middleModel.declaringEntity(of: between.name, in: entity) ?? entity
        let ends = [owner, between.destinationEntity].map { middleModel.concreteFamily(of: $0) }
        let isFedBySeveral = ends.contains { end in
            first.resolved.entityMappings.count { end.contains($0.destination) } > 1
        }
        if new.isJoined, isFedBySeveral { throw obstacle("is given an order") }
        guard shape.isOrdered else { return }
        guard shape.isStored(like: new), keepsAllLinks(between, ends[0], ends[1]) else {
            throw obstacle("is given an order")
        }
    }

    /// Whether the second step keeps every pair of related objects.
    private func keepsAllLinks(_ between: Relationship, _ owners: Set<String>, _ targets: Set<String>) -> Bool {
        let carrying = second.resolved.entityMappings.filter { $0.filter == nil }
        guard owners.union(targets).isSubset(of: Set(carrying.map(\.source))) else { return false }
        let inverse = middleModel.inverse(of: between)?.name
        func relates(_ own: ResolvedEntityMapping, _ relationship: String, _ other: ResolvedEntityMapping) -> Bool {
            own.relationships.contains { $0.sourceRelationship == relationship && $0.mappings.contains(other.name) }
        }
        return carrying.filter { owners.contains($0.source) }.allSatisfy { own in
            carrying.filter { targets.contains($0.source) }.allSatisfy { other in
                relates(own, between.name, other) || inverse.map { relates(other, $0, own) } == true
            }
        }
    }
}
