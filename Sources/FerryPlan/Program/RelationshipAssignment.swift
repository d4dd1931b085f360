internal import FerryExpression
internal import FerryMapping
package import FerryModel
package import FerryStore

/// One stored relationship of a copy and the rules that fill it.
///
/// A relationship and its inverse are stored once. The resolved step leaves one of the two names to each pair of entity
/// mappings, so that both may be there, for different objects.
package struct RelationshipAssignment: Sendable, Equatable {
    /// The side that is filled, as it is declared in the destination model.
    package let declared: PropertyKey
    package let relationship: Relationship
    package let storage: RelationshipStorage
    package internal(set) var contributions: [RelationshipContribution]
    /// Whether each side of a one-to-one writes its key with its rows, so that nothing has to be settled.
    package fileprivate(set) var isWrittenByBoth = false

    /// The table of a many-to-many.
    package var joinTable: String? { if case .join(let table, _, _, _, _) = storage { table } else { nil } }
}

/// Finds which side of each relationship is filled, and when.
struct RelationshipAssigner {
    private let rules: RelationshipRules
    private let step: ResolvedStep
    private let mappings: MappingsByName
    /// Position of a mapping to its place in the order of the run.
    private let runOrder: [Int: Int]
    private let counting: CountedKeys

    private var source: StoreLayout { rules.source }
    private var destination: StoreLayout { rules.destination }

    init(_ rules: RelationshipRules, _ step: StepPlan) {
        self.rules = rules
        self.step = step.resolved
        mappings = MappingsByName(step.resolved)
        let order = step.partitions.flatMap { $0.entityMappings.map(\.mapping.position) }
        runOrder = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        counting = CountedKeys(step)
    }

    /// In the order in which they are filled.
    func assignments() -> [RelationshipAssignment] {
        let given = rules.byRelationship
        let keys = Set(given.map(\.key))
        return given.compactMap { assignment(for: $0.key, $0.contributions) }
            .map { walkedFromFirstColumn($0) ?? $0 }
            .flatMap { writtenWithRows($0, given: keys) }
    }

    private func assignment(
        for key: PropertyKey, _ contributions: [RelationshipContribution]
    ) -> RelationshipAssignment? {
        guard let relationship = destination.model.relationship(key.property, of: key.entity),
            let storage = destination.relationshipStorage[key]
        else { return nil }
        let placed = contributions.map { contribution in
            var placed = contribution
            placed.key = self.key(of: contribution, storage)
            return placed
        }
        return RelationshipAssignment(
            declared: key, relationship: relationship, storage: storage, contributions: placed)
    }

    // MARK: With the rows

    /// The same assignment with its key, or its other key, moved to where it is written with a row.
    ///
    /// These are both sides of a one-to-one, or the side of a one-to-many that has the key. Nothing is moved where one of
    /// the keys is not known with its row.
    private func writtenWithRows(
        _ assignment: RelationshipAssignment, given: Set<PropertyKey>
    ) -> [RelationshipAssignment] {
        guard !step.hasPolicies, let (key, contributions) = otherSide(of: assignment), !given.contains(key),
            var other = self.assignment(for: key, contributions), other.contributions.allSatisfy(\.isInline)
        else { return [assignment] }
        guard case .foreignKey = assignment.storage else { return [other] }
        guard assignment.contributions.allSatisfy(\.isInline) else { return [assignment] }
        var own = assignment
        (own.isWrittenByBoth, other.isWrittenByBoth) = (true, true)
        return [own, other]
    }

    /// The rules of one side, told from the other.
    ///
    /// Where two entity mappings make one object each of the same source object and relate these two, it is the same
    /// whose rule says so. Then each side can write its own key with its own row. Nil where objects of one side may be
    /// related to several of the other.
    private func otherSide(
        of assignment: RelationshipAssignment
    ) -> (key: PropertyKey, contributions: [RelationshipContribution])? {
        guard hasOtherKey(assignment), let inverse = destination.model.inverseKey(of: assignment.relationship),
            inverse != assignment.declared
        else { return nil }
        var contributions: [RelationshipContribution] = []
        for contribution in assignment.contributions {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard rule.isOfSameObject, rule.mappings.count == 1, let other = mappings[rule.mappings[0]],
                mapping.isOneToOne, other.isOneToOne, other.source == mapping.source,
                !contributions.contains(where: { $0.mapping.position == other.position })
            else { return nil }
            let back = ResolvedRelationship(
                name: inverse.property, mappings: [mapping.name], from: rule.from, isAutomatic: false)
            contributions.append(RelationshipContribution(other, back, of: mappings, in: source))
        }
        return (inverse, contributions)
    }

    /// Whether the other side has a key to write: a one-to-one, or a to-many without an order, whose one object would
    /// need a position.
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
        // A policy's objects are related in the second pass, by the policy.
        guard case .foreignKey = storage, mapping.policy == nil, isToOnePath(rule.from, in: mapping) else {
            return .afterRows
        }
        if counting.suffice(rule, of: mapping) { return .counted }
        let isKnown = mappings.all(rule.mappings) { other in
            if other.keepsPrimaryKey { return true }
            guard other.iteration == nil, other.policy == nil, let first = runOrder[other.position],
                let second = runOrder[mapping.position]
            else { return false }
            return first < second
        }
        return isKnown ? .lookedUp : .afterRows
    }

    /// Whether a path ends at one object at most.
    private func isToOnePath(_ from: Expression, in mapping: ResolvedEntityMapping) -> Bool {
        guard from.isPath else { return false }
        do {
            return try !ExpressionTranslation(scope: mapping.expressionScope(in: source.model)).path(toObjects: from).isToMany
        } catch {
            // The mapping's check refused it, with its place.
            return false
        }
    }

    // MARK: Which side is walked

    /// The same many-to-many, filled from the side whose keys come first in the join table's primary key.
    ///
    /// The links of two kept sides are the same from either, and from this one they come in the order in which they
    /// are stored. Nil where the sides differ, or where positions depend on which one is walked.
    private func walkedFromFirstColumn(_ assignment: RelationshipAssignment) -> RelationshipAssignment? {
        guard case .join(let table, let own, _, let otherOrder, let ownOrder) = assignment.storage,
            let join = destination.joinTables.first(where: { $0.name == table }),
            own == join.secondColumn, !join.isReflexive,
            let inverse = destination.model.inverseKey(of: assignment.relationship)
        else { return nil }
        var rules: [Int: ResolvedRelationship] = [:]
        for contribution in assignment.contributions {
            guard contribution.rule.isAutomatic, contribution.mapping.keepsPrimaryKey,
                contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder),
                let back = contribution.origin?.relationship.inverseName
            else { return nil }
            for target in contribution.rule.mappings {
                guard let other = mappings[target], other.keepsPrimaryKey else { return nil }
                let from = Expression.keyPath(.variable("source"), [.key(back)])
                var rule =
                    rules[other.position]
                    ?? ResolvedRelationship(name: inverse.property, mappings: [], from: from, isAutomatic: true)
                guard rule.from == from else { return nil }
                rule.mappings.append(contribution.mapping.name)
                rules[other.position] = rule
            }
        }
        let given = rules.sorted { $0.key < $1.key }.map {
            RelationshipContribution(step.entityMappings[$0.key], $0.value, of: mappings, in: source)
        }
        return self.assignment(for: inverse, given)
    }
}

/// Decides where a row that is being written can have the new key of an object that is made elsewhere: by counting.
///
/// The objects that an entity mapping makes get keys one after another, in the order of their source objects, after a
/// number that is known before the first of them is written. So what goes over the very same source objects, each of them
/// once and in that order, knows the key of each by counting, whether its row is there yet or not. Neither an association
/// nor a later update is needed.
struct CountedKeys {
    private let step: ResolvedStep
    /// The entity mappings in the order of the run.
    private let run: [ResolvedEntityMapping]

    init(_ step: StepPlan) {
        self.step = step.resolved
        run = step.partitions.flatMap { $0.entityMappings.map(\.mapping) }
    }

    /// Whether the rows of a mapping can count the keys of what its rule takes, which then need nothing but the source
    /// object at hand.
    ///
    /// Of several mappings that the rule names only the first one that has an object would be counted.
    func suffice(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) -> Bool {
        guard !step.hasPolicies, rule.isOfSameObject, rule.mappings.count == 1,
            let other = step.entityMapping(named: rule.mappings[0]), !other.keepsPrimaryKey, other.isOneToOne,
            other.source == mapping.source, mapping.isOneToOne, mapping.filter == nil
        else { return false }
        return earlierMakers(than: other).allSatisfy(\.isOneToOne)
    }

    /// The mappings whose new objects come before those of a mapping in the same table.
    func earlierMakers(than mapping: ResolvedEntityMapping) -> [ResolvedEntityMapping] {
        let model = step.destination.model
        let root = model.root(of: mapping.destination)
        return run.prefix { $0.position != mapping.position }
            .filter { !$0.keepsPrimaryKey && model.root(of: $0.destination) == root }
    }
}
