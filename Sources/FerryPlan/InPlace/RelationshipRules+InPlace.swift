internal import FerryMapping
internal import FerryModel
internal import FerryStore

// Where the links of a destination relationship stand in the source store, for a step that leaves rows where they are:
// the two sides of a relationship are put together, since links that stand where they are to stand need no statement.
extension RelationshipRules {
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
        /// What the rule of the pair passes on.
        let origin: SourceRelationship
        /// As it is stored, seen from `own`.
        var storage: RelationshipStorage
        /// The source entity that it declares for `other`.
        var target: String

        /// The same from the other side, of a rule of `own`.
        func mirrored(in source: StoreLayout) -> Pair {
            let back = source.model.inverse(of: origin.relationship)?.destinationEntity
            return Pair(
                own: other, other: own, origin: origin, storage: origin.otherSide(of: storage, other, in: source),
                target: back ?? source.model.key(of: origin.name, in: own.source)?.entity ?? own.source)
        }
    }

    /// What a destination relationship is made of, from its own side.
    func pairs(of relationship: PropertyKey) throws(InPlaceObstacle) -> [Pair] {
        let pairs = try ruled(relationship)
        guard let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverseKey(of: declared),
            inverse != relationship || declared.destinationEntity != relationship.entity
        else { return pairs }
        return try pairs + ruled(inverse).map { $0.mirrored(in: source) }
    }

    /// What the rules say that name a relationship.
    private func ruled(_ relationship: PropertyKey) throws(InPlaceObstacle) -> [Pair] {
        var found: [Pair] = []
        for contribution in contributions(to: relationship) {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard let origin = contribution.origin else {
                throw .needsCopy("\(mapping.destination).\(rule.name) is filled over a path")
            }
            for other in rule.mappings.compactMap({ step.entityMapping(named: $0) }) {
                found.append(
                    Pair(
                        own: mapping, other: other, origin: origin, storage: origin.storage,
                        target: origin.relationship.destinationEntity))
            }
        }
        return found
    }

    // MARK: Keys in rows

    /// The key that the rows of a mapping hold for a to-one relationship of their own, which is made of some pairs; nil when
    /// it is left empty.
    ///
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
        return try key(ofOwn: pairs.map { $0.mirrored(in: source) }, in: mapping)
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
            possible: source.model.concreteFamily(of: first.target), allowed: Set(pairs.map(\.other.source)))
    }
}
