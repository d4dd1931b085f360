internal import FerryMapping
internal import FerryModel

/// Whether a relationship comes to the same over a version in between as past it.
struct LinkCheck {
    let composition: Composition
    /// For messages.
    let relationship: String
    let between: Relationship
    /// The entity in between that has the relationship.
    let entity: String
    /// The relationship in the three versions, from the same side; the first is nil when its objects come over a path.
    let old: LinkShape?
    let shape: LinkShape
    let new: LinkShape
    /// Whether both rules take links over as they are.
    let isAutomatic: Bool
    let hasSeveralMappings: Bool

    func check() throws(CompositionObstacle) {
        guard isAutomatic, let old else { return try checkRules() }
        guard !old.isNarrowed(to: shape), !shape.isNarrowed(to: new) else {
            throw obstacle("leaves only one of several objects related")
        }
        // Of two keys that ought to agree a version with one key takes its own.
        if old.isOneToOne, !shape.isOneToOne, !shape.isStored(like: new) {
            throw obstacle("is stored in several forms")
        }
        try checkOrders(old)
    }

    private func obstacle(_ what: String) -> CompositionObstacle {
        CompositionObstacle("\(relationship) of version \(composition.middle.name) \(what)")
    }

    /// A rule of a mapping model says itself in what order, and which of several objects are taken.
    private func checkRules() throws(CompositionObstacle) {
        guard shape == new, !hasSeveralMappings else { throw obstacle("is filled by a rule of its own") }
        if shape.isJoined, !shape.isOrdered { return }
        guard keepsAllLinks else { throw obstacle("loses objects on the way") }
        // A rule in the second step finds the order that the first one left.
        if shape.isOrdered, let old, !old.hasOrders(of: shape) { throw obstacle("is filled by a rule of its own") }
    }

    /// Positions are taken over, or made once: from the same objects, in the same order.
    private func checkOrders(_ old: LinkShape) throws(CompositionObstacle) {
        guard new.isOrdered else { return }
        if old.isOrdered {
            guard old.hasOrders(of: shape), shape.hasOrders(of: new) else { throw obstacle("changes its order") }
            return
        }
        guard !shape.isOrdered || shape.hasOrders(of: new) else { throw obstacle("changes its order") }
        if new.isJoined, isFedBySeveralMappings { throw obstacle("is given an order") }
        guard shape.isOrdered else { return }
        guard shape.isStored(like: new), keepsAllLinks else { throw obstacle("is given an order") }
    }

    // MARK: What the steps do with the relationship's objects

    private var owner: String { composition.middleModel.declaringEntity(of: between.name, in: entity) ?? entity }

    private func family(of entity: String) -> Set<String> {
        Set(
            composition.middleModel.family(of: entity).filter {
                composition.middleModel.entities[$0]?.isAbstract == false
            })
    }

    private var isFedBySeveralMappings: Bool {
        [owner, between.destinationEntity].contains { end in
            let family = family(of: end)
            return composition.first.resolved.entityMappings.count { family.contains($0.destination) } > 1
        }
    }

    /// Whether the second step relates every pair of objects again.
    private var keepsAllLinks: Bool {
        let (owners, targets) = (family(of: owner), family(of: between.destinationEntity))
        let second = composition.second.resolved
        let carrying = second.entityMappings.filter { $0.filter == nil }
        guard owners.union(targets).isSubset(of: Set(carrying.map(\.source))) else { return false }
        let inverse = composition.middleModel.inverse(of: between)?.name
        return carrying.filter { owners.contains($0.source) }.allSatisfy { own in
            carrying.filter { targets.contains($0.source) }.allSatisfy { other in
                Self.relates(own, between.name, other) || inverse.map { Self.relates(other, $0, own) } == true
            }
        }
    }

    private static func relates(
        _ own: ResolvedEntityMapping, _ relationship: String, _ other: ResolvedEntityMapping
    ) -> Bool {
        own.relationships.contains { $0.sourceRelationship == relationship && $0.mappings.contains(other.name) }
    }
}
