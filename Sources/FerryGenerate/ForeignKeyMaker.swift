internal import FerryModel
internal import FerryStore

/// Computes the foreign keys of one to-one relationship, row by row, from keys and seed alone.
struct ForeignKeyMaker {
    struct Target {
        var key: Int64
        /// `Z_ENT` of the related row.
        var number: Int64
        /// The value of the order column.
        var orderKey: Int64
    }

    private enum Shape {
        /// Any object; many may share it.
        case any
        /// `size` neighbours share one object, in order.
        case blocks(size: Int64)
        /// One-to-one with the object of the same index, or of the index ± 1 around a circle.
        case partner(shift: Int64)
        /// One-to-one with itself as inverse: neighbours.
        case neighbours
    }

    let column: String
    let entityColumn: String?
    let orderColumn: String?
    private let source: KeyRanges.Family
    private let destination: KeyRanges.Family
    private let shape: Shape
    /// Of a hundred.
    private let empty: Int64
    private let seed: UInt64
    private let stream: UInt64
    /// Whether this side, not its inverse, decides which pairs are left out.
    private let isLeading: Bool

    init?(_ key: PropertyKey, in layout: StoreLayout, ranges: KeyRanges, options: GenerationOptions) {
        guard case .foreignKey(_, let column, let entityColumn, let orderColumn)? = layout.relationshipStorage[key],
            let relationship = layout.model.relationship(key.property, of: key.entity),
            let source = ranges.families[key.entity], let destination = ranges.families[relationship.destinationEntity]
        else { return nil }
        self.column = column
        self.entityColumn = entityColumn
        self.orderColumn = orderColumn
        self.source = source
        self.destination = destination
        seed = options.seed
        let inverse = layout.model.inverse(of: relationship)
        let inverseKey = inverse.flatMap { inverse in
            layout.model.declaringEntity(of: inverse.name, in: relationship.destinationEntity)
                .map { PropertyKey($0, inverse.name) }
        }
        let isUnique = layout.isUnique(key)
        if let inverse, let inverseKey, !inverse.isToMany {
            isLeading = key <= inverseKey
            stream = (isLeading ? key : inverseKey).stream
            empty = relationship.isOptional && inverse.isOptional ? options.emptyPercent : 0
            shape =
                key == inverseKey
                ? .neighbours
                : .partner(
                    shift: key.entity == inverseKey.entity && relationship.destinationEntity == key.entity
                        ? (isLeading ? 1 : -1) : 0)
        } else {
            isLeading = true
            stream = key.stream
            empty = relationship.isOptional ? options.emptyPercent : 0
            let shared = max(1, (source.count + destination.count - 1) / max(1, destination.count))
            let limit = inverse.map { $0.maxCount > 1 ? Int64($0.maxCount) : Int64.max } ?? .max
            if isUnique {
                shape = .blocks(size: 1)
            } else if orderColumn != nil || limit < .max {
                shape = .blocks(size: min(shared, limit))
            } else {
                shape = .any
            }
        }
    }

    /// What the row with this key leads to, or nil when it is to be NULL.
    func target(of key: Int64, random: inout SeededRandom) -> Target? {
        guard destination.count > 0 else { return nil }
        let index = source.index(key)
        switch shape {
        case .any:
            guard empty == 0 || random.below(100) >= empty else { return nil }
            return target(at: random.below(destination.count), position: 0)
        case .blocks(let size):
            guard empty == 0 || random.below(100) >= empty else { return nil }
            return target(at: index / size, position: index % size)
        case .partner(let shift):
            let other = shift == 0 ? index : (index + shift + destination.count) % destination.count
            guard !isLeftOut(isLeading ? index : other) else { return nil }
            return target(at: other, position: 0)
        case .neighbours:
            guard !isLeftOut(index & ~1) else { return nil }
            return target(at: index ^ 1, position: 0)
        }
    }

    private func target(at index: Int64, position: Int64) -> Target? {
        guard index < destination.count else { return nil }
        let key = destination.key(index)
        return Target(key: key, number: destination.number(ofKey: key), orderKey: OrderKey.at(position))
    }

    /// The same for both sides of a pair, which the leading side's index names.
    private func isLeftOut(_ index: Int64) -> Bool {
        guard empty > 0 else { return false }
        var random = SeededRandom(seed: seed, stream, index)
        return random.below(100) < empty
    }
}

/// Keys of ordered relationships, as Core Data gives them to a new one.
enum OrderKey {
    static func at(_ position: Int64) -> Int64 { 2_048 + 1_024 * position }
}

extension PropertyKey {
    var stream: UInt64 { "\(entity).\(property)".stream }
}

extension StoreLayout {
    /// Whether a constraint of nothing but this property makes its values unique.
    func isUnique(_ key: PropertyKey) -> Bool {
        model.entities.values.contains { entity in
            model.isKind(entity.name, of: key.entity) && entity.uniquenessConstraints.contains([key.property])
        }
    }
}
