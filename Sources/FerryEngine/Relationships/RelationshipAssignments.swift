internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

/// Which rules fill which stored relationship, and when.
///
/// A relationship and its inverse are stored once. The resolved step leaves one of the two names to each pair of entity
/// mappings, so that both may be there, for different objects.
struct RelationshipAssignments {
    /// One stored relationship and the rules that fill it.
    struct Assignment {
        /// The side that is filled, as it is declared in the destination model.
        var declared: PropertyKey
        var relationship: Relationship
        var storage: RelationshipStorage
        var contributions: [Contribution]
        /// Whether each side of a one-to-one writes its key with its rows, so that nothing has to be settled.
        var isWrittenByBoth = false

        /// The table of a many-to-many.
        var joinTable: String? { if case .join(let table, _, _, _, _) = storage { table } else { nil } }
    }

    /// What one entity mapping says of the relationship.
    struct Contribution {
        var mapping: ResolvedEntityMapping
        var rule: ResolvedRelationship
        /// Whether the foreign key is written with the row itself.
        var isInline: Bool
        /// Whether that key is a new one which follows from the place of the source object (``CountedKeys``).
        var isCounted = false
        /// What the rule passes on; nil where it makes links of its own.
        var origin: SourceRelationship?
        /// Whether the positions that the source has are passed on.
        var copied: CopiedOrders

        /// Whether any position is passed on as it is.
        var copiesOrder: Bool { copied.related || copied.own }

        /// Whether the other mapping's association alone gives the pairs: every object of this mapping keeps its key and
        /// is related to what the other one made of the very same object.
        func isOwnAssociation(of other: ResolvedEntityMapping) -> Bool {
            mapping.keepsPrimaryKey && mapping.filter == nil && other.source == mapping.source
                && !other.keepsPrimaryKey && other.policy == nil && rule.from == .variable("source")
        }
    }

    /// Positions that the source has and a rule passes on.
    struct CopiedOrders {
        /// Of the related objects among those of the rule's object.
        var related = false
        /// Of the rule's object among those of a related one.
        var own = false

        /// Whether every order of a many-to-many is among them.
        func suffice(otherOrder: String?, ownOrder: String?) -> Bool {
            (otherOrder == nil || related) && (ownOrder == nil || own)
        }
    }

    private(set) var assignments: [Assignment] = []
    /// Positions of the entity mappings whose associations are needed.
    private(set) var associated: Set<Int> = []
    /// Positions of the entity mappings whose associations are only ever read as a whole.
    private(set) var associatedAtOnce: Set<Int> = []
    /// Join tables that one statement fills, because their rows do not come in the order of their keys.
    private(set) var sorted: [JoinTable] = []
    /// Join tables whose rows are gathered in scratch first, because several rules fill them, or positions depend on
    /// all rows.
    private(set) var gathered: [JoinTable] = []

    init(step: StepPlan, source: StoreLayout, destination: StoreLayout) {
        let builder = Builder(step: step, source: source, destination: destination)
        assignments = builder.assignments()
        for table in destination.joinTables {
            let filling = assignments.filter { $0.joinTable == table.name }
            if filling.isEmpty || builder.comesInOrder(filling, into: table) { continue }
            if filling.count == 1, filling[0].contributions.count == 1,
                table.firstOrderColumn == nil, table.secondOrderColumn == nil
            {
                sorted.append(table)
            } else {
                gathered.append(table)
            }
        }
        if step.resolved.hasPolicies {
            // A policy may ask for what any mapping made, and relate objects of any many-to-many.
            gathered = destination.joinTables
            sorted = []
            associated = Set(step.resolved.entityMappings.filter { !$0.keepsPrimaryKey }.map(\.position))
        }
        for contribution in assignments.flatMap(\.contributions) {
            for name in contribution.isCounted ? [] : contribution.rule.mappings {
                if let other = builder.byName[name], !other.keepsPrimaryKey { associated.insert(other.position) }
            }
            if !contribution.isInline, !contribution.mapping.keepsPrimaryKey {
                associated.insert(contribution.mapping.position)
            }
        }
        if !step.resolved.hasPolicies { associatedAtOnce = associated.filter { isReadAtOnce(step.resolved, $0) } }
    }

    private func isReadAtOnce(_ step: ResolvedStep, _ position: Int) -> Bool {
        let other = step.entityMappings[position]
        return assignments.allSatisfy { assignment in
            let isSorted = sorted.contains { $0.name == assignment.joinTable }
            return assignment.contributions.allSatisfy { contribution in
                guard contribution.rule.mappings.contains(other.name), !contribution.isCounted else {
                    return contribution.isInline || contribution.mapping.position != position
                }
                return isSorted && contribution.isOwnAssociation(of: other)
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

    /// The names of the mappings whose new keys a mapping counts while it writes its rows.
    func counted(by mapping: ResolvedEntityMapping) -> [String] {
        Set(inline(of: mapping).filter(\.contribution.isCounted).flatMap(\.contribution.rule.mappings)).sorted()
    }
}

private struct Builder {
    let source: StoreLayout
    let destination: StoreLayout
    let step: ResolvedStep
    let byName: [String: ResolvedEntityMapping]
    /// Position of a mapping to its place in the order of the run.
    let runOrder: [Int: Int]
    private let counting: CountedKeys

    init(step: StepPlan, source: StoreLayout, destination: StoreLayout) {
        self.source = source
        self.destination = destination
        self.step = step.resolved
        byName = Dictionary(
            step.resolved.entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let order = step.partitions.flatMap { $0.entityMappings.map(\.mapping.position) }
        runOrder = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        counting = CountedKeys(step)
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
        return given.sorted { ($0.key.entity, $0.key.property) < ($1.key.entity, $1.key.property) }
            .compactMap { assignment(for: $0.key, $0.value) }
            .map { walkedFromFirstColumn($0) ?? $0 }
            .flatMap { writtenWithRows($0, given: Set(given.keys)) }
    }

    /// The same assignment with its key, or its other key, moved to where it is written with a row.
    ///
    /// - Parameters:
    ///   - assignment: The rules of one side.
    ///   - given: The relationships that have rules.
    /// - Returns: Both sides of a one-to-one, or the side of a one-to-many that has the key; what was given where one of
    ///   the keys is not known with its row.
    private func writtenWithRows(
        _ assignment: RelationshipAssignments.Assignment, given: Set<PropertyKey>
    ) -> [RelationshipAssignments.Assignment] {
        guard !step.hasPolicies,
            let (key, rules) = OtherSide(destination: destination, mappings: byName).rules(of: assignment),
            !given.contains(key), var other = self.assignment(for: key, rules),
            other.contributions.allSatisfy(\.isInline)
        else { return [assignment] }
        guard case .foreignKey = assignment.storage else { return [other] }
        guard assignment.contributions.allSatisfy(\.isInline) else { return [assignment] }
        var own = assignment
        (own.isWrittenByBoth, other.isWrittenByBoth) = (true, true)
        return [own, other]
    }

    // MARK: Which side is walked

    /// The same many-to-many, filled from the side whose keys come first in the join table's primary key.
    ///
    /// The links of two kept sides are the same from either, and from this one they come in the order in which they
    /// are stored. Nil where the sides differ, or where positions depend on which one is walked.
    private func walkedFromFirstColumn(
        _ assignment: RelationshipAssignments.Assignment
    ) -> RelationshipAssignments.Assignment? {
        guard case .join(let table, let own, _, let otherOrder, let ownOrder) = assignment.storage,
            let join = destination.joinTables.first(where: { $0.name == table }),
            own == join.secondColumn, !join.isReflexive,
            let name = assignment.relationship.inverseName,
            let entity = destination.model.declaringEntity(of: name, in: assignment.relationship.destinationEntity)
        else { return nil }
        var rules: [Int: ResolvedRelationship] = [:]
        for contribution in assignment.contributions {
            guard contribution.rule.isAutomatic, contribution.mapping.keepsPrimaryKey,
                contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder),
                let back = contribution.origin?.relationship.inverseName
            else { return nil }
            for target in contribution.rule.mappings {
                guard let other = byName[target], other.keepsPrimaryKey else { return nil }
                let from = Expression.keyPath(.variable("source"), [.key(back)])
                var rule =
                    rules[other.position]
                    ?? ResolvedRelationship(name: name, mappings: [], from: from, isAutomatic: true)
                guard rule.from == from else { return nil }
                rule.mappings.append(contribution.mapping.name)
                rules[other.position] = rule
            }
        }
        let given = rules.sorted { $0.key < $1.key }.map { (mapping: step.entityMappings[$0.key], rule: $0.value) }
        return self.assignment(for: PropertyKey(entity, name), given)
    }

    // MARK: When

    private func assignment(for key: PropertyKey, _ rules: Given) -> RelationshipAssignments.Assignment? {
        guard let relationship = destination.model.relationship(key.property, of: key.entity),
            let storage = destination.relationshipStorage[key]
        else { return nil }
        let contributions = rules.map { mapping, rule in
            let isInline = isInline(mapping, rule, storage)
            let origin = SourceRelationship(rule, of: mapping, in: source)
            return RelationshipAssignments.Contribution(
                mapping: mapping, rule: rule, isInline: isInline,
                isCounted: isInline && counting.suffice(rule, of: mapping), origin: origin,
                copied: copiedOrders(mapping, rule, origin))
        }
        return RelationshipAssignments.Assignment(
            declared: key, relationship: relationship, storage: storage, contributions: contributions)
    }

    private func isInline(
        _ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship, _ storage: RelationshipStorage
    ) -> Bool {
        // A policy's objects are related in the second pass, by the policy.
        guard case .foreignKey = storage, mapping.policy == nil, isToOnePath(rule.from, in: mapping) else {
            return false
        }
        if counting.suffice(rule, of: mapping) { return true }
        return rule.mappings.allSatisfy { name in
            guard let other = byName[name] else { return false }
            if other.keepsPrimaryKey { return true }
            guard other.iteration == nil, other.policy == nil, let first = runOrder[other.position],
                let second = runOrder[mapping.position]
            else { return false }
            return first < second
        }
    }

    /// Whether a path ends at one object at most.
    private func isToOnePath(_ from: Expression, in mapping: ResolvedEntityMapping) -> Bool {
        guard from.isPath else { return false }
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

    /// Whether a walk over one mapping's keys meets the rows of a join table in the order of its primary key, and knows
    /// their positions.
    func comesInOrder(_ filling: [RelationshipAssignments.Assignment], into table: JoinTable) -> Bool {
        guard filling.count == 1, let contribution = filling[0].contributions.first,
            filling[0].contributions.count == 1,
            case .join(_, let own, _, let otherOrder, let ownOrder) = filling[0].storage
        else { return false }
        return own == table.firstColumn && contribution.mapping.keepsPrimaryKey
            && contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder)
    }

    /// The positions that can be passed on as they are: the same objects with the same keys, or what policies make of
    /// them.
    private func copiedOrders(
        _ mapping: ResolvedEntityMapping, _ rule: ResolvedRelationship, _ origin: SourceRelationship?
    ) -> RelationshipAssignments.CopiedOrders {
        guard mapping.mayKeepPrimaryKeys, rule.isAutomatic,
            rule.mappings.allSatisfy({ byName[$0]?.mayKeepPrimaryKeys ?? false }), let origin
        else { return .init() }
        return switch origin.storage {
        case .foreignKey(_, _, _, let order): .init(own: order != nil)
        case .inverseForeignKey(_, _, _, let order): .init(related: order != nil)
        case .join(_, _, _, let otherOrder, let ownOrder): .init(related: otherOrder != nil, own: ownOrder != nil)
        case .inverseless: .init()
        }
    }
}

/// Rules for one side of a relationship, told from the other side.
///
/// Where two entity mappings make one object each of the same source object and relate these two, it is the same whose
/// rule says so. Then each side can write its own key with its own row.
struct OtherSide {
    let destination: StoreLayout
    let mappings: [String: ResolvedEntityMapping]

    /// The rules of the other side.
    ///
    /// - Parameter assignment: The rules that fill a relationship, all of them.
    /// - Returns: Its inverse and what fills that; nil where objects of one side may be related to several of the other.
    func rules(
        of assignment: RelationshipAssignments.Assignment
    ) -> (key: PropertyKey, rules: [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)])? {
        guard isReached(assignment), let name = assignment.relationship.inverseName,
            let entity = destination.model.declaringEntity(of: name, in: assignment.relationship.destinationEntity),
            PropertyKey(entity, name) != assignment.declared
        else { return nil }
        var rules: [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)] = []
        for contribution in assignment.contributions {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard rule.isOfSameObject, rule.mappings.count == 1, let other = mappings[rule.mappings[0]],
                mapping.isOneToOne, other.isOneToOne, other.source == mapping.source,
                !rules.contains(where: { $0.mapping.position == other.position })
            else { return nil }
            let back = ResolvedRelationship(name: name, mappings: [mapping.name], from: rule.from, isAutomatic: false)
            rules.append((other, back))
        }
        return (PropertyKey(entity, name), rules)
    }

    /// Whether the other side has a key to write: a one-to-one, or a to-many without an order, whose one object would
    /// need a position.
    private func isReached(_ assignment: RelationshipAssignments.Assignment) -> Bool {
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
}
