internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What is known of the source's links before its rows are read.
///
/// Where every key of a relationship leads to a row, and every such row is carried with its key, the key can be copied
/// without looking the row up again. What is broken is set right on the way, and counted.
struct SourceKeys {
    /// One relationship as one entity mapping fills it.
    struct Place: Hashable {
        var mapping: Int
        var relationship: String
    }

    /// The columns whose keys are copied as they are.
    private(set) var copied: [Place: String] = [:]
    /// The join tables that are filled as the source has them, by name: each with the source's columns in their places.
    private(set) var links: [String: JoinTable] = [:]
    /// Broken links of the relationships that the step carries.
    private(set) var broken: [StoreDamage] = []
    /// The relationships with links that lead nowhere.
    private let dangling: Set<PropertyKey>
    private let model: ManagedObjectModel

    /// - Parameters:
    ///   - assignments: What fills each relationship.
    ///   - step: The step.
    ///   - source: The source's actual layout.
    ///   - destination: The new store's layout.
    ///   - damage: What a scan has found in the source.
    init(
        _ assignments: RelationshipAssignments, step: ResolvedStep, source: StoreLayout, destination: StoreLayout,
        damage: [StoreDamage]
    ) {
        model = source.model
        let links = Dictionary(
            grouping: damage.filter { Self.kinds.contains($0.kind) },
            by: { PropertyKey($0.entity, $0.property ?? "") })
        dangling = Set(links.filter { $0.value.contains { $0.kind == .danglingKey } }.keys)
        var carried: Set<PropertyKey> = []
        for assignment in assignments.assignments {
            for contribution in assignment.contributions {
                let mapping = contribution.mapping
                guard let origin = contribution.origin else { continue }
                let keys = Self.keys(of: origin.relationship, in: mapping.source, source.model)
                carried.formUnion(keys)
                guard case .foreignKey(_, let column, _, _) = origin.storage, contribution.isInline,
                    keys.first.map(dangling.contains) == false,
                    case .foreignKey(_, _, let entityColumn, _) = assignment.storage,
                    // With several targets only the row itself tells which of them it is.
                    entityColumn == nil || contribution.rule.mappings.count == 1,
                    contribution.rule.keepsEveryTarget(of: origin.relationship, step, source.model)
                else { continue }
                copied[Place(mapping: mapping.position, relationship: contribution.rule.name)] = column
            }
        }
        broken = carried.sorted().flatMap { links[$0] ?? [] }
        // A policy may relate objects of any many-to-many.
        guard !step.hasPolicies else { return }
        let unchanged = UnchangedLinks(step: step, source: source, broken: dangling)
        for table in destination.joinTables {
            let filling = assignments.assignments.filter { $0.joinTable == table.name }
            if filling.count == 1 { self.links[table.name] = unchanged.origin(of: table, filling[0]) }
        }
    }

    private static let kinds: Set<StoreDamage.Kind> = [.danglingKey, .oneSidedInverse, .wrongEntity, .missingOrder]

    /// Whether a relationship that an entity mapping carries has a kind of damage, on whichever of its two sides.
    func has(_ kind: StoreDamage.Kind, _ relationship: Relationship, of entity: String) -> Bool {
        let keys = Self.keys(of: relationship, in: entity, model)
        return broken.contains { damage in
            damage.kind == kind && keys.contains(PropertyKey(damage.entity, damage.property ?? ""))
        }
    }

    /// Whether every link of a relationship leads to an object of its entity.
    func isSound(_ name: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(name, of: entity) else { return false }
        return dangling.isDisjoint(with: Self.keys(of: relationship, in: entity, model))
    }

    /// A relationship and its inverse, as they are declared.
    private static func keys(
        of relationship: Relationship, in entity: String, _ model: ManagedObjectModel
    ) -> [PropertyKey] {
        let sides = [(relationship.name, entity), (relationship.inverseName, relationship.destinationEntity)]
        return sides.compactMap { name, entity in
            name.flatMap { name in model.declaringEntity(of: name, in: entity).map { PropertyKey($0, name) } }
        }
    }
}

/// Finds the join tables whose rows are those of a join table of the source, as they are.
///
/// That is so where every link of the source leads from a row to a row, and every object at either end is carried with
/// its key. Then no row of an object has to be looked up to relate it.
struct UnchangedLinks {
    let step: ResolvedStep
    let source: StoreLayout
    /// The relationships that have links which lead nowhere, as a scan names them.
    let broken: Set<PropertyKey>

    /// The source's table that holds the links of one of the destination.
    ///
    /// - Parameters:
    ///   - table: The destination's table.
    ///   - assignment: The only rules that fill it.
    /// - Returns: Each column of the source's table in the place of the one that it fills; nil where the links have to be
    ///   looked up one by one.
    func origin(of table: JoinTable, _ assignment: RelationshipAssignments.Assignment) -> JoinTable? {
        guard case .join(_, let own, _, let otherOrder, let ownOrder) = assignment.storage else { return nil }
        var origins: Set<JoinTable> = []
        var carried: Set<String> = []
        var expected: Set<String> = []
        for contribution in assignment.contributions {
            let mapping = contribution.mapping
            guard let passed = contribution.origin, mapping.keepsEveryObject,
                contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder),
                let entity = source.model.declaringEntity(of: passed.name, in: mapping.source),
                isSound(passed.storage),
                contribution.rule.keepsEveryTarget(of: passed.relationship, step, source.model),
                let origin = origin(of: table, passed.storage, isOwnFirst: own == table.firstColumn)
            else { return nil }
            origins.insert(origin)
            carried.insert(mapping.source)
            expected.formUnion(source.model.concreteFamily(of: entity))
        }
        guard origins.count == 1, expected.isSubset(of: carried) else { return nil }
        return origins.first
    }

    private func origin(of table: JoinTable, _ storage: RelationshipStorage, isOwnFirst: Bool) -> JoinTable? {
        guard case .join(let name, let own, let other, let otherOrder, let ownOrder) = storage else { return nil }
        var origin = table
        origin.name = name
        (origin.firstColumn, origin.secondColumn) = isOwnFirst ? (own, other) : (other, own)
        let (first, second) = isOwnFirst ? (ownOrder, otherOrder) : (otherOrder, ownOrder)
        origin.firstOrderColumn = table.firstOrderColumn.flatMap { _ in first }
        origin.secondOrderColumn = table.secondOrderColumn.flatMap { _ in second }
        return origin.columns.count == table.columns.count ? origin : nil
    }

    /// Whether every row of a join table leads from a row to a row.
    private func isSound(_ storage: RelationshipStorage) -> Bool {
        guard let table = source.joinTables.first(where: { $0.name == storage.table }) else { return false }
        return !broken.contains(table.relationship)
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one with the same key.
    fileprivate var keepsEveryObject: Bool { keepsPrimaryKey && filter == nil }
}

extension ResolvedRelationship {
    /// Whether every object that a relationship of the source can lead to is carried with its key.
    fileprivate func keepsEveryTarget(
        of relationship: Relationship, _ step: ResolvedStep, _ model: ManagedObjectModel
    ) -> Bool {
        let targets = step.entityMappings.filter { mappings.contains($0.name) }
        return targets.allSatisfy(\.keepsEveryObject)
            && model.concreteFamily(of: relationship.destinationEntity).isSubset(of: targets.map(\.source))
    }
}
