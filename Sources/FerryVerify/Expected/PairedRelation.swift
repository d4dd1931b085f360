internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// A relation between objects that keep their keys and new objects of the same source objects, which may have the same
/// keys.
///
/// Walkers compare it together with the new objects, without associations: a source object's key is that of its kept
/// object. After a difference the relation is compared pair by pair.
struct PairedRelation: Sendable {
    let relation: StoredRelation
    let kept: ResolvedEntityMapping
    let made: ResolvedEntityMapping
    /// The foreign keys in the rows of the new objects; nil if the kept objects or a join table hold the links.
    let keysOfNew: StoredLinks?
    /// The links seen from the kept objects.
    let links: StoredLinks
    /// Other mappings whose objects could have the keys of new objects, which must be NULL.
    let others: [ResolvedEntityMapping]

    /// Nil with other mappings, other related objects than `$source`, `unique`, policies, or positions in other tables
    /// than that of the new objects.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        guard !context.step.hasPolicies, !context.verification.isInPlace, !relation.isReflexive,
            let first = relation.rules.first, let target = first.relationship.mappings.first,
            let other = context.mapping(named: target)
        else { return nil }
        let kept: ResolvedEntityMapping
        let made: ResolvedEntityMapping
        if first.mapping.keepsPrimaryKey, other.keepsPrimaryKey {
            // Both have the source object's key; the holder of the foreign key takes the place of the new object.
            guard relation.links.areInRowsOfA, first.mapping.unique.isEmpty else { return nil }
            (kept, made) = first.isInverse ? (first.mapping, other) : (other, first.mapping)
        } else {
            (kept, made) = first.mapping.keepsPrimaryKey ? (first.mapping, other) : (other, first.mapping)
        }
        guard kept.keepsPrimaryKey, kept.position != made.position, kept.unique.isEmpty, made.unique.isEmpty,
            kept.source == made.source
        else { return nil }
        let areNewFirst = first.isInverse == (first.mapping.position == kept.position)
        let pairs = [kept.position: made.name, made.position: kept.name]
        for rule in relation.rules {
            guard let target = pairs[rule.mapping.position], rule.relationship.mappings == [target], !rule.isMirrored,
                rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject,
                (rule.isInverse == (rule.mapping.position == kept.position)) == areNewFirst
            else { return nil }
        }
        links = areNewFirst ? relation.links.reversed : relation.links
        if let other = relation.other {
            // Several elements would compete for one key.
            guard made.iteration == nil else { return nil }
            keysOfNew = areNewFirst ? relation.links : other.links
        } else if links.areInRowsOfB {
            keysOfNew = links.reversed
        } else {
            keysOfNew = nil
            if links.aOrder != nil || links.bOrder != nil { return nil }
        }
        let model = context.destinationModel
        let holder = areNewFirst ? relation.key.entity : relation.other?.key.entity ?? relation.key.entity
        var isInverseless = false
        if case .inverseless? = context.destination.relationshipStorage[relation.key] { isInverseless = true }
        others = context.mappings(into: model.root(of: made.destination)).filter {
            $0.position != made.position && (isInverseless || model.isKind($0.destination, of: holder))
        }
        (self.relation, self.kept, self.made) = (relation, kept, made)
    }

    /// The rule that fills the keys of new objects.
    var ruleOfNew: ResolvedRelationship {
        ResolvedRelationship(
            name: relation.key.property, mappings: [kept.name], from: .variable("source"), isAutomatic: false)
    }

    /// Whether all parts that compare new objects showed no difference, and the two sides of a one-to-one agree.
    func isShown(in context: VerificationContext) throws -> Bool {
        let outcomes = context.progress.state.outcomes
        let name = relation.key.title
        let root = context.destinationModel.root(of: made.destination)
        guard relation.haveSidesAgreed(in: context),
            !outcomes.values.contains(where: { $0.unshown?.contains(name) == true })
        else { return false }
        if made.keepsPrimaryKey, context.newKeyMappings(into: root).isEmpty {
            let ranges = try RowsCheck.ranges(of: context.destinationTable(of: root), in: context)
            return RowWalk.isDivisible(root, in: context) && ranges.allSatisfy { outcomes[$0.name] != nil }
        }
        guard let rows = try NewRows(root, in: context)?.rows() else { return false }
        return rows.allSatisfy { outcomes[$0.name] != nil }
    }
}
