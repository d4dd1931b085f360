internal import FerryBase
internal import FerryMapping
internal import FerryModel
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
        let mappings = step.entityMappings
        model = source.model
        let links = Dictionary(
            grouping: damage.filter { Self.kinds.contains($0.kind) },
            by: { PropertyKey($0.entity, $0.property ?? "") })
        dangling = Set(links.filter { $0.value.contains { $0.kind == .danglingKey } }.keys)
        var carried: Set<PropertyKey> = []
        for assignment in assignments.assignments {
            for contribution in assignment.contributions {
                let mapping = contribution.mapping
                guard let name = contribution.rule.sourceRelationship,
                    let relationship = source.model.relationship(name, of: mapping.source),
                    let key = Self.key(name, of: mapping.source, in: source.model)
                else { continue }
                carried.insert(key)
                if let inverse = Self.inverse(of: relationship, in: source.model) { carried.insert(inverse) }
                guard case .foreignKey(_, let column, _, _)? = source.storage(of: name, in: mapping.source),
                    contribution.isInline, !dangling.contains(key),
                    Self.isEveryTargetCarried(
                        contribution, of: relationship, assignment, mappings: mappings, model: source.model)
                else { continue }
                copied[Place(mapping: mapping.position, relationship: contribution.rule.name)] = column
            }
        }
        broken = carried.sorted().flatMap { links[$0] ?? [] }
        // A policy may relate objects of any many-to-many.
        guard !step.hasPolicies else { return }
        let unchanged = UnchangedLinks(mappings: mappings, source: source, broken: dangling)
        for table in destination.joinTables {
            let filling = assignments.assignments.filter { $0.joinTable == table.name }
            if filling.count == 1 { self.links[table.name] = unchanged.origin(of: table, filling[0]) }
        }
    }

    private static let kinds: Set<StoreDamage.Kind> = [.danglingKey, .oneSidedInverse, .wrongEntity, .missingOrder]

    /// Whether a relationship that an entity mapping carries has a kind of damage, on whichever of its two sides.
    func has(_ kind: StoreDamage.Kind, _ name: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(name, of: entity) else { return false }
        let keys = [Self.key(name, of: entity, in: model), Self.inverse(of: relationship, in: model)]
        return broken.contains { damage in
            damage.kind == kind && keys.contains(PropertyKey(damage.entity, damage.property ?? ""))
        }
    }

    /// Whether every link of a relationship leads to an object of its entity.
    func isSound(_ name: String, of entity: String) -> Bool {
        guard let relationship = model.relationship(name, of: entity), let key = Self.key(name, of: entity, in: model)
        else { return false }
        return !dangling.contains(key)
            && Self.inverse(of: relationship, in: model).map { !dangling.contains($0) } != false
    }

    private static func key(_ name: String, of entity: String, in model: ManagedObjectModel) -> PropertyKey? {
        model.declaringEntity(of: name, in: entity).map { PropertyKey($0, name) }
    }

    private static func inverse(of relationship: Relationship, in model: ManagedObjectModel) -> PropertyKey? {
        relationship.inverseName.flatMap { key($0, of: relationship.destinationEntity, in: model) }
    }

    private static func isEveryTargetCarried(
        _ contribution: RelationshipAssignments.Contribution, of relationship: Relationship,
        _ assignment: RelationshipAssignments.Assignment, mappings: [ResolvedEntityMapping],
        model: ManagedObjectModel
    ) -> Bool {
        guard case .foreignKey(_, _, let entityColumn, _) = assignment.storage else { return false }
        let carrying = mappings.filter { contribution.rule.mappings.contains($0.name) }
        // With several targets only the row itself tells which of them it is.
        guard entityColumn == nil || carrying.count == 1,
            carrying.allSatisfy({ $0.keepsPrimaryKey && $0.filter == nil })
        else { return false }
        let carried = Set(carrying.map(\.source))
        return model.family(of: relationship.destinationEntity).allSatisfy { name in
            carried.contains(name) || model.entities[name]?.isAbstract == true
        }
    }
}
