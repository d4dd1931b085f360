internal import FerryBase
internal import FerryExpression
internal import FerryMapping
package import FerryModel
package import FerryStore

/// One stored relationship of a copy and the rules that fill it.
///
/// A relationship and its inverse are stored once. The resolved step names each pair of entity mappings by one of the
/// two, so both names may occur, for different objects.
package struct RelationshipAssignment: Sendable, Equatable {
    /// The filled side, as declared in the destination model.
    package let declared: PropertyKey
    package let relationship: Relationship
    package let storage: RelationshipStorage
    package internal(set) var contributions: [RelationshipContribution]
    /// Whether each side of a one-to-one writes its key with its rows, so that it needs no settling.
    package fileprivate(set) var isWrittenByBoth = false

    /// Whether its last rule comes after that of its inverse, in Core Data's order: by mapping, then by name.
    fileprivate func isLater(than other: Self) -> Bool {
        func last(_ assignment: Self) -> (Int, String) {
            let all = assignment.contributions.map { ($0.mapping.position, $0.rule.name) }
            return all.max(by: <) ?? (-1, "")
        }
        return last(self) > last(other)
    }

    package var joinTable: String? { if case .join(let table, _, _, _, _) = storage { table } else { nil } }
}

/// Chooses the side that fills each relationship, and the time of filling.
struct RelationshipAssigner {
    private let rules: RelationshipRules
    private let plan: StepPlan
    /// Position of a mapping to its place in the run.
    private let runOrder: [Int: Int]
    private let earlierMakers: [Int: [Int]]

    private var source: StoreLayout { rules.source }
    private var destination: StoreLayout { rules.destination }

    init(_ rules: RelationshipRules, _ plan: StepPlan) {
        (self.rules, self.plan) = (rules, plan)
        runOrder = Dictionary(uniqueKeysWithValues: plan.partitions.joined().enumerated().map { ($1, $0) })
        earlierMakers = plan.earlierMakers
    }

    /// In the order in which they are filled.
    func assignments() -> [RelationshipAssignment] {
        let given = rules.byRelationship.filter { plan.keptPart?.linked.contains($0.key) ?? true }
        let keys = Set(given.map(\.key))
        let assignments = given.compactMap { assignment(for: $0.key, $0.value) }
            .flatMap { writtenWithRows($0, given: keys) }
        return laterSideFirst(assignments)
    }

    /// Puts the side of the later rule first where both sides have rules, for different entity mappings.
    ///
    /// Links do not replace each other, so the other side fills what is left, and cannot write keys with its rows.
    private func laterSideFirst(_ assignments: [RelationshipAssignment]) -> [RelationshipAssignment] {
        var assignments = assignments
        for place in assignments.indices {
            let own = assignments[place]
            guard !own.isWrittenByBoth, own.joinTable == nil,
                let inverse = destination.model.inverseKey(of: own.relationship), inverse != own.declared,
                let other = assignments.firstIndex(where: { $0.declared == inverse && !$0.isWrittenByBoth }),
                place < other
            else { continue }
            if !own.isLater(than: assignments[other]) { assignments.swapAt(place, other) }
            for index in assignments[other].contributions.indices {
                assignments[other].contributions[index].key = .afterRows
            }
        }
        return assignments
    }

    private func assignment(
        for key: PropertyKey, _ contributions: [RelationshipContribution]
    ) -> RelationshipAssignment? {
        guard let relationship = destination.model.relationship(key.property, of: key.entity),
            let storage = destination.relationshipStorage[key]
        else { return nil }
        let placed = contributions.map { contribution in
            var placed = contribution
            // An object that an earlier mapping finds by `unique` first takes what that one relates it to.
            let isFoundBefore = contributions.contains { other in
                other.mapping.position < contribution.mapping.position && !other.mapping.unique.isEmpty
                    && other.mapping.destination == contribution.mapping.destination
            }
            if !isFoundBefore { placed.key = self.key(of: contribution, storage) }
            return placed
        }
        return RelationshipAssignment(
            declared: key, relationship: relationship, storage: storage, contributions: placed)
    }

    // MARK: Keys written with rows

    /// Moves the key to rows that know it, of both sides of a one-to-one or the keyed side of a one-to-many.
    private func writtenWithRows(
        _ assignment: RelationshipAssignment, given: Set<PropertyKey>
    ) -> [RelationshipAssignment] {
        guard !plan.resolved.hasPolicies, let (key, contributions) = otherSide(of: assignment), !given.contains(key),
            var other = self.assignment(for: key, contributions), other.contributions.allSatisfy(\.isInline)
        else { return [assignment] }
        guard case .foreignKey = assignment.storage else { return [other] }
        guard assignment.contributions.allSatisfy(\.isInline) else { return [assignment] }
        var own = assignment
        (own.isWrittenByBoth, other.isWrittenByBoth) = (true, true)
        return [own, other]
    }

    /// The rules of an assignment as rules of the other side.
    ///
    /// If two entity mappings make one object each of the same source object and relate the two, each side can write
    /// its own key. Nil if an object may be related to several objects of the other side.
    private func otherSide(
        of assignment: RelationshipAssignment
    ) -> (key: PropertyKey, contributions: [RelationshipContribution])? {
        guard hasOtherKey(assignment), let inverse = destination.model.inverseKey(of: assignment.relationship),
            inverse != assignment.declared
        else { return nil }
        var contributions: [RelationshipContribution] = []
        for contribution in assignment.contributions {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard rule.isOfSameObject, rule.mappings.count == 1,
                let other = plan.resolved.entityMapping(named: rule.mappings[0]),
                mapping.isOneToOne, other.isOneToOne, other.source == mapping.source,
                !contributions.contains(where: { $0.mapping.position == other.position })
            else { return nil }
            let back = ResolvedRelationship(
                name: inverse.property, mappings: [mapping.name], from: rule.from, isAutomatic: false)
            contributions.append(RelationshipContribution(other, back, of: plan.resolved, in: source))
        }
        return (inverse, contributions)
    }

    /// Whether the other side has a key to write: in a one-to-one, or in a to-many without positions.
    private func hasOtherKey(_ assignment: RelationshipAssignment) -> Bool {
        switch assignment.storage {
        case .foreignKey(let table, let column, _, _):
            guard let inverse = assignment.relationship.inverseName,
                case .foreignKey(let otherTable, let otherColumn, _, _)? = destination.storage(
                    of: inverse, in: assignment.relationship.destinationEntity)
            else { return false }
            return otherTable != table || otherColumn != column
        case .inverseForeignKey(_, _, _, let orderColumn): return orderColumn == nil
        case .join, .inverseless: return false
        }
    }

    private func key(
        of contribution: RelationshipContribution, _ storage: RelationshipStorage
    ) -> RelationshipContribution.Key {
        let (mapping, rule) = (contribution.mapping, contribution.rule)
        // No statement writes the rows of a table that stays.
        if plan.keptPart?.positions.contains(mapping.position) == true { return .afterRows }
        // A policy relates its objects itself, in the second pass. An object that several source objects become takes the
        // first related object of any of them, which its row does not know.
        guard case .foreignKey = storage, mapping.policy == nil, mapping.unique.isEmpty,
            isToOnePath(rule.from, in: mapping)
        else {
            return .afterRows
        }
        if canCountKeys(of: rule, in: mapping) { return .counted }
        let isKnown = rule.mappings.allSatisfy { name in
            guard let other = plan.resolved.entityMapping(named: name) else { return false }
            if other.keepsPrimaryKey { return true }
            guard other.iteration == nil, other.policy == nil, let first = runOrder[other.position],
                let second = runOrder[mapping.position]
            else { return false }
            return first < second
        }
        return isKnown ? .lookedUp : .afterRows
    }

    private func isToOnePath(_ from: Expression, in mapping: ResolvedEntityMapping) -> Bool {
        guard from.isPath else { return false }
        do {
            return try !ExpressionTranslation(scope: mapping.expressionScope(in: source.model)).path(toObjects: from)
                .isToMany
        } catch {
            // The check of the mapping reports this error, with its place.
            return false
        }
    }

    /// Whether the rows of a mapping can count the new keys of the rule's objects instead of looking them up.
    ///
    /// An entity mapping gives consecutive keys in the order of its source objects, after a number that is known
    /// beforehand. Another mapping that reads the same source objects, each once and in that order, can count these
    /// keys before their rows exist. It needs no association and no later update.
    private func canCountKeys(of rule: ResolvedRelationship, in mapping: ResolvedEntityMapping) -> Bool {
        let step = plan.resolved
        guard !step.hasPolicies, rule.isOfSameObject, rule.mappings.count == 1,
            let other = step.entityMapping(named: rule.mappings[0]), !other.keepsPrimaryKey, other.isOneToOne,
            other.source == mapping.source, mapping.isOneToOne, mapping.filter == nil
        else { return false }
        return (earlierMakers[other.position] ?? []).allSatisfy { step.entityMappings[$0].isOneToOne }
    }
}

extension StepPlan {
    /// By the position of an entity mapping: those of the mappings that give new keys in the same table before it.
    var earlierMakers: [Int: [Int]] {
        var makers: [String: [Int]] = [:]
        var earlier: [Int: [Int]] = [:]
        for mapping in entityMappings {
            let root = resolved.destination.model.root(of: mapping.destination)
            earlier[mapping.position] = makers[root]
            if !mapping.keepsPrimaryKey { makers[root, default: []].append(mapping.position) }
        }
        return earlier
    }
}
