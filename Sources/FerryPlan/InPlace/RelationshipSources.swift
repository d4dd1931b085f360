internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Where the links of a destination relationship stand in the source store.
///
/// A relationship is stored once for both sides, and the resolved step names it from one of them.
struct RelationshipSources {
    let step: ResolvedStep
    let source: StoreLayout
    let destination: StoreLayout

    /// A key column in the rows of one entity mapping.
    struct Key: Hashable {
        var column: String
        var entityColumn: String?
        var orderColumn: String?
        /// The source table of the objects that the key leads to.
        var targetTable: String
        /// Source entities that the key can lead to, and those of them whose objects stay related.
        var possible: Set<String>
        var allowed: Set<String>
    }

    /// Mappings that relate objects, each with the one of the related objects.
    struct Pair {
        var own: ResolvedEntityMapping
        var other: ResolvedEntityMapping
        /// As it is stored, seen from `own`.
        var storage: RelationshipStorage
        /// The source relationship and the entity that asks for it, as the step names it.
        var relationship: String
        var entity: String
    }

    /// What a destination relationship is made of, from its own side.
    func pairs(of relationship: PropertyKey) throws(InPlaceObstacle) -> [Pair] {
        var pairs = try contributions(to: relationship).map {
            Pair(
                own: $0.mapping, other: $0.other, storage: $0.storage, relationship: $0.relationship,
                entity: $0.mapping.source)
        }
        guard let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverse(of: declared),
            inverse.name != relationship.property
                || declared.destinationEntity != relationship.entity,
            let entity = destination.model.declaringEntity(of: inverse.name, in: declared.destinationEntity)
        else { return pairs }
        for contribution in try contributions(to: PropertyKey(entity, inverse.name)) {
            pairs.append(
                Pair(
                    own: contribution.other, other: contribution.mapping,
                    storage: try mirrored(contribution.storage, contribution),
                    relationship: contribution.relationship, entity: contribution.mapping.source))
        }
        return pairs
    }

    private struct Contribution {
        var mapping: ResolvedEntityMapping
        var other: ResolvedEntityMapping
        var relationship: String
        var storage: RelationshipStorage
    }

    private func contributions(to key: PropertyKey) throws(InPlaceObstacle) -> [Contribution] {
        var found: [Contribution] = []
        // By their places: taking each mapping out to look at it would copy all that it holds.
        let mappings = step.entityMappings
        for place in mappings.indices where destination.model.isKind(mappings[place].destination, of: key.entity) {
            guard mappings[place].relationships.contains(where: { $0.name == key.property }) else { continue }
            let mapping = mappings[place]
            for rule in mapping.relationships where rule.name == key.property {
                guard let origin = SourceRelationship(rule, of: mapping, in: source) else {
                    throw .needsCopy("\(mapping.destination).\(rule.name) is filled over a path")
                }
                for other in rule.mappings.compactMap({ step.entityMapping(named: $0) }) {
                    found.append(
                        Contribution(
                            mapping: mapping, other: other, relationship: origin.name, storage: origin.storage))
                }
            }
        }
        return found
    }

    /// A storage as the related object's side would name it.
    private func mirrored(
        _ storage: RelationshipStorage, _ contribution: Contribution
    ) throws(InPlaceObstacle) -> RelationshipStorage {
        switch storage {
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            return .join(table: table, own: other, other: own, otherOrder: ownOrder, ownOrder: otherOrder)
        case .inverseForeignKey(let table, let column, let entityColumn, let orderColumn):
            return .foreignKey(table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        case .inverseless(let table, let column):
            return .foreignKey(table: table, column: column, entityColumn: nil, orderColumn: nil)
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            // Of a one-to-one both sides hold a key: the other side's own is wanted.
            guard
                let relationship = source.model.relationship(
                    contribution.relationship, of: contribution.mapping.source),
                let inverse = source.model.inverse(of: relationship),
                let mirrored = source.storage(of: inverse.name, in: contribution.other.source),
                case .foreignKey = mirrored
            else {
                return .inverseForeignKey(
                    table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
            }
            return mirrored
        }
    }

    // MARK: Keys in rows

    /// The key that the rows of a mapping hold for a relationship of their own; nil when it is left empty.
    ///
    /// - Parameters:
    ///   - pairs: What the to-one relationship is made of, from the side of the rows that hold the key.
    ///   - mapping: Whose rows hold it.
    /// - Returns: The source column.
    /// - Throws: When the rows do not hold the key already.
    func key(_ pairs: [Pair], in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key? {
        try key(ofOwn: pairs.filter { $0.own.position == mapping.position }, in: mapping)
    }

    /// Whether a to-one relationship is a new side of one whose keys stand in the related rows: a one-to-one holds a key
    /// on both sides.
    func isHeldByOtherSide(_ relationship: PropertyKey, _ pairs: [Pair], in mapping: ResolvedEntityMapping) -> Bool {
        let own = pairs.filter { $0.own.position == mapping.position }
        guard !own.isEmpty,
            let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverse(of: declared), !inverse.isToMany
        else { return false }
        return own.allSatisfy { if case .inverseForeignKey = $0.storage { true } else { false } }
    }

    /// The same of a to-many relationship without inverse, whose key the related rows hold.
    func key(ofInverseless relationship: PropertyKey, in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key?
    {
        let pairs = try pairs(of: relationship).filter { $0.other.position == mapping.position }
        var mirroredPairs: [Pair] = []
        for pair in pairs {
            let contribution = Contribution(
                mapping: pair.own, other: pair.other, relationship: pair.relationship, storage: pair.storage)
            mirroredPairs.append(
                Pair(
                    own: pair.other, other: pair.own, storage: try mirrored(pair.storage, contribution),
                    relationship: pair.relationship, entity: pair.entity))
        }
        return try key(ofOwn: mirroredPairs, in: mapping)
    }

    private func key(ofOwn pairs: [Pair], in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key? {
        guard let first = pairs.first else { return nil }
        guard pairs.allSatisfy({ $0.storage == first.storage }),
            case .foreignKey(let table, let column, let entityColumn, let orderColumn) = first.storage,
            table == source.table(of: mapping.source)?.name,
            let target = source.table(of: first.other.source)
        else {
            throw .needsCopy("\(mapping.destination) takes over keys that other rows hold")
        }
        return Key(
            column: column, entityColumn: entityColumn, orderColumn: orderColumn, targetTable: target.name,
            possible: possibleTargets(of: column, in: mapping), allowed: Set(pairs.map(\.other.source)))
    }

    /// Concrete source entities that a key column of an entity's rows can lead to.
    private func possibleTargets(of column: String, in mapping: ResolvedEntityMapping) -> Set<String> {
        let table = source.table(of: mapping.source)?.name
        for (key, storage) in source.relationshipStorage {
            switch storage {
            case .foreignKey(table, column, _, _) where source.model.isKind(mapping.source, of: key.entity):
                let target = source.model.relationship(key.property, of: key.entity)?.destinationEntity
                return target.map(source.model.concreteFamily(of:)) ?? []
            case .inverseless(table, column): return source.model.concreteFamily(of: key.entity)
            default: break
            }
        }
        return []
    }
}
