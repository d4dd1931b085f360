internal import FerryMapping
internal import FerryModel
internal import FerryStore

// The stored links of a destination relationship in the source store, for a step that leaves rows in place. Both sides
// of a relationship are read together, since links in their right place need no statement.
extension RelationshipRules {
    /// A key column in the rows of one entity mapping.
    struct Key: Hashable {
        var column: String
        var entityColumn: String?
        var orderColumn: String?
        var targetTable: String
        /// Source entities that the key can lead to, and those of them whose objects stay related.
        var possible: Set<String>
        var allowed: Set<String>
    }

    /// Two mappings whose objects a rule relates.
    struct Pair {
        var own: ResolvedEntityMapping
        var other: ResolvedEntityMapping
        let origin: SourceRelationship
        /// The storage as seen from `own`.
        var storage: RelationshipStorage
        /// The source entity that the relationship declares for `other`.
        var target: String

        func mirrored(in source: StoreLayout) -> Pair {
            let back = source.model.inverse(of: origin.relationship)?.destinationEntity
            return Pair(
                own: other, other: own, origin: origin, storage: origin.otherSide(of: storage, other, in: source),
                target: back ?? source.model.key(of: origin.name, in: own.source)?.entity ?? own.source)
        }
    }

    /// The pairs of a destination relationship, by its own rules and by those of its inverse.
    func pairs(of relationship: PropertyKey) throws(StepObstacle) -> [Pair] {
        let pairs = try ruled(relationship)
        guard let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverseKey(of: declared),
            inverse != relationship || declared.destinationEntity != relationship.entity
        else { return pairs }
        return try pairs + ruled(inverse).map { $0.mirrored(in: source) }
    }

    /// The pairs by the rules of the relationship itself.
    private func ruled(_ relationship: PropertyKey) throws(StepObstacle) -> [Pair] {
        var found: [Pair] = []
        for contribution in byKey[relationship] ?? [] {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard let origin = contribution.origin else {
                throw StepObstacle("\(mapping.destination).\(rule.name) is filled over a path")
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

    /// The key of a relationship in the rows of a mapping, which are the pairs' own; nil if it stays NULL.
    ///
    /// - Throws: ``StepObstacle`` if the rows do not hold the key already.
    func key(_ pairs: [Pair], in mapping: ResolvedEntityMapping) throws(StepObstacle) -> Key? {
        let pairs = pairs.filter { $0.own.position == mapping.position }
        guard let first = pairs.first else { return nil }
        guard pairs.allSatisfy({ $0.storage == first.storage }),
            case .foreignKey(let table, let column, let entityColumn, let orderColumn) = first.storage,
            table == source.table(of: mapping.source)?.name,
            let target = source.table(of: first.other.source)
        else {
            throw StepObstacle("\(mapping.destination) reuses keys of other rows")
        }
        return Key(
            column: column, entityColumn: entityColumn, orderColumn: orderColumn, targetTable: target.name,
            possible: source.model.concreteFamily(of: first.target), allowed: Set(pairs.map(\.other.source)))
    }
}
