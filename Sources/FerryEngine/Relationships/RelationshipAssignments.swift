internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

/// Which rules fill which stored relationship, and when.
///
/// A relationship and its inverse are stored once, so of two rules for the two names only one is run: when both are
/// automatic from inverse relationships they say the same, otherwise the later one in processing order wins.
struct RelationshipAssignments {
    /// One stored relationship and the rules that fill it.
    struct Assignment {
        /// The side that is filled, as it is declared in the destination model.
        var declared: PropertyKey
        var relationship: Relationship
        var storage: RelationshipStorage
        var contributions: [Contribution]
    }

    /// What one entity mapping says of the relationship.
    struct Contribution {
        var mapping: ResolvedEntityMapping
        var rule: ResolvedRelationship
        /// Whether the foreign key is written with the row itself.
        var isInline: Bool
        /// Whether the position among the inverse's objects is passed on with it.
        var copiesOrder: Bool
    }

    private(set) var assignments: [Assignment] = []
    /// Positions of the entity mappings whose associations are needed.
    private(set) var associated: Set<Int> = []

    init(step: StepPlan, source: StoreLayout, destination: StoreLayout) {
        let builder = Builder(step: step, source: source, destination: destination)
        assignments = builder.assignments()
        for contribution in assignments.flatMap(\.contributions) {
            for name in contribution.rule.mappings {
                if let other = builder.byName[name], !other.keepsPrimaryKey { associated.insert(other.position) }
            }
            if !contribution.isInline, !contribution.mapping.keepsPrimaryKey {
                associated.insert(contribution.mapping.position)
            }
        }
    }

    /// The foreign keys that a mapping writes with its rows.
    func inline(of mapping: ResolvedEntityMapping) -> [(assignment: Assignment, contribution: Contribution)] {
        assignments.flatMap { assignment in
            assignment.contributions
                .filter { $0.isInline && $0.mapping.position == mapping.position }
                .map { (assignment, $0) }
        }
    }
}

private struct Builder {
    let source: StoreLayout
    let destination: StoreLayout
    let step: ResolvedStep
    let byName: [String: ResolvedEntityMapping]
    /// Position of a mapping to its place in the order of the run.
    let runOrder: [Int: Int]

    init(step: StepPlan, source: StoreLayout, destination: StoreLayout) {
        self.source = source
        self.destination = destination
        self.step = step.resolved
        byName = Dictionary(
            step.resolved.entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let order = step.partitions.flatMap { $0.entityMappings.map(\.mapping.position) }
        runOrder = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    }

    private typealias Given = [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)]

    func assignments() -> [RelationshipAssignments.Assignment] {
        var given: [PropertyKey: Given] = [:]
        for mapping in step.entityMappings {
            for rule in mapping.relationships {
                guard let entity = destination.model.declaringEntity(of: rule.name, in: mapping.destination) else {
                    continue
                }
                given[PropertyKey(entity, rule.name), default: []].append((mapping, rule))
            }
        }
        var result: [RelationshipAssignments.Assignment] = []
        var settled = Set<PropertyKey>()
        let order = given.keys.sorted { ($0.entity, $0.property) < ($1.entity, $1.property) }
        for key in order where !settled.contains(key) {
            let inverse = inverseKey(of: key)
            settled.insert(key)
            if let inverse { settled.insert(inverse) }
            var chosen = key
            if let inverse, inverse != key, let own = given[key], let other = given[inverse] {
                chosen = choose(key, own, inverse, other)
            }
            guard let rules = given[chosen], let assignment = assignment(for: chosen, rules) else { continue }
            result.append(assignment)
        }
        return result
    }

    private func inverseKey(of key: PropertyKey) -> PropertyKey? {
        guard let relationship = destination.model.relationship(key.property, of: key.entity),
            let name = relationship.inverseName,
            let entity = destination.model.declaringEntity(of: name, in: relationship.destinationEntity)
        else { return nil }
        return PropertyKey(entity, name)
    }

    // MARK: Which of two sides

    private func choose(_ key: PropertyKey, _ own: Given, _ inverse: PropertyKey, _ other: Given) -> PropertyKey {
        guard own.allSatisfy({ mirrors($0, in: other) }), other.allSatisfy({ mirrors($0, in: own) }) else {
            let last = { (given: Given) in given.map(\.mapping.position).max() ?? 0 }
            return last(own) > last(other) ? key : inverse
        }
        // Both say the same: the side that stores the key writes it with the row, unless only the other side knows
        // the positions of an ordered relationship.
        for (candidate, rules) in [(key, own), (inverse, other)] {
            guard case .foreignKey(_, _, _, let order)? = destination.relationshipStorage[candidate] else { continue }
            if order == nil || rules.allSatisfy({ copiesOrder($0.mapping, $0.rule) }) { return candidate }
            return candidate == key ? inverse : key
        }
        let isOrdered = destination.model.relationship(key.property, of: key.entity)?.isOrdered ?? false
        return isOrdered ? key : inverse
    }

    /// Whether an automatic rule is matched by the automatic rule for the inverse of the same source relationship.
    private func mirrors(
        _ one: (mapping: ResolvedEntityMapping, rule: ResolvedRelationship), in others: Given
    ) -> Bool {
        guard one.rule.isAutomatic,
            let relationship = source.model.relationship(one.rule.name, of: one.mapping.source),
            let inverse = relationship.inverseName
        else { return false }
        return one.rule.mappings.allSatisfy { name in
            others.contains { $0.mapping.name == name && $0.rule.isAutomatic && $0.rule.name == inverse }
        }
    }

    // MARK: When

    private func assignment(for key: PropertyKey, _ rules: Given) -> RelationshipAssignments.Assignment? {
        guard let relationship = destination.model.relationship(key.property, of: key.entity),
            let storage = destination.relationshipStorage[key]
        else { return nil }
        let contributions = rules.map { mapping, rule in
            RelationshipAssignments.Contribution(
                mapping: mapping, rule: rule, isInline: isInline(mapping, rule, storage),
                copiesOrder: copiesOrder(mapping, rule))
        }
        return RelationshipAssignments.Assignment(
            declared: key, relationship: relationship, storage: storage, contributions: contributions)
    }

    private func isInline(
        _ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship, _ storage: RelationshipStorage
    ) -> Bool {
        guard case .foreignKey = storage, isToOnePath(rule.from, in: mapping) else { return false }
        return rule.mappings.allSatisfy { name in
            guard let other = byName[name] else { return false }
            if other.keepsPrimaryKey { return true }
            guard other.iteration == nil, let first = runOrder[other.position], let second = runOrder[mapping.position]
            else { return false }
            return first < second
        }
    }

    /// Whether a path ends at one object at most.
    private func isToOnePath(_ from: Expression, in mapping: ResolvedEntityMapping) -> Bool {
        guard case .keyPath(let base, let steps) = from else { return true }
        var entity = mapping.source
        if case .variable(let name) = base, name != "source" {
            guard let element = IterationPath.entity(of: mapping, in: source.model) else { return false }
            entity = element
        }
        for step in steps {
            guard case .key(let name) = step, let relationship = source.model.relationship(name, of: entity),
                !relationship.isToMany
            else { return false }
            entity = relationship.destinationEntity
        }
        return true
    }

    /// Whether the position in the ordered inverse can be passed on as it is: the same objects with the same keys.
    private func copiesOrder(_ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship) -> Bool {
        guard mapping.keepsPrimaryKey, rule.isAutomatic,
            rule.mappings.allSatisfy({ byName[$0]?.keepsPrimaryKey ?? false }),
            let storage = source.storage(of: rule.name, in: mapping.source)
        else { return false }
        switch storage {
        case .foreignKey(_, _, _, let order), .inverseForeignKey(_, _, _, let order): return order != nil
        case .join(_, _, _, let otherOrder, let ownOrder): return otherOrder != nil || ownOrder != nil
        case .inverseless: return false
        }
    }
}
