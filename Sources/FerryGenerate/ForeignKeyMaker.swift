internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Computes the foreign keys of one to-one relationship, row by row, from primary keys and the seed only.
struct ForeignKeyMaker {
    struct Target {
        var key: Int64
        /// The related row's entity number (`Z_ENT`).
        var number: Int64
        var orderKey: Int64
    }

    private enum Shape {
        case assigned(Assignment)
        /// The row's key, divided, selects the object in turn: pairs of such relationships differ from row to row.
        case counted(divisor: Int64)
        /// One-to-one with the object of the same index, or of the index ± 1 modulo the count.
        case partner(shift: Int64)
        /// One-to-one and its own inverse: neighbours form pairs.
        case neighbours
    }

    let column: String
    let entityColumn: String?
    let orderColumn: String?
    private let source: KeyRanges.Family
    private let destination: KeyRanges.Family
    private let shape: Shape
    private let isMandatory: Bool
    /// The percentage of one-to-one pairs that are left out.
    private let empty: Int64
    private let seed: UInt64
    private let stream: UInt64
    /// Whether this side, not its inverse, decides which pairs are left out.
    private let isLeading: Bool

    /// `divisor` is the key's divisor for a uniqueness constraint; nil if no constraint has the relationship.
    init?(
        _ key: PropertyKey, in layout: StoreLayout, ranges: KeyRanges, options: GenerationOptions, divisor: Int64?
    ) {
        guard case .foreignKey(_, let column, let entityColumn, let orderColumn)? = layout.relationshipStorage[key],
            let relationship = layout.model.relationship(key.property, of: key.entity),
            let destination = ranges.families[relationship.destinationEntity]
        else { return nil }
        let inverse = layout.model.inverse(of: relationship)
        // An inherited relationship may have an inverse to one subentity: only objects of that subentity have partners.
        guard let source = ranges.families[inverse?.destinationEntity ?? key.entity] else { return nil }
        self.column = column
        self.entityColumn = entityColumn
        self.orderColumn = orderColumn
        self.source = source
        self.destination = destination
        seed = options.seed
        isMandatory = !relationship.isOptional
        let inverseKey = layout.model.inverseKey(of: relationship)
        if let inverse, let inverseKey, !inverse.isToMany {
            isLeading = key <= inverseKey
            stream = (isLeading ? key : inverseKey).stream
            empty = relationship.isOptional && inverse.isOptional ? options.emptyPercent : 0
            let isCircle = key.entity == inverseKey.entity && relationship.destinationEntity == key.entity
            shape = key == inverseKey ? .neighbours : .partner(shift: isCircle ? (isLeading ? 1 : -1) : 0)
            return
        }
        (isLeading, stream, empty) = (true, key.stream, 0)
        if let divisor {
            shape = .counted(divisor: divisor)
        } else {
            shape = .assigned(
                Assignment(
                    of: source.count, to: destination.count, limits: inverse.map(RelationshipLimits.init) ?? .none,
                    isOrdered: orderColumn != nil, empty: relationship.isOptional ? options.emptyPercent : 0))
        }
    }

    /// The related object of the row with this key, or nil for NULL.
    func target(of key: Int64, random: inout SeededRandom) -> Target? {
        guard destination.count > 0 else { return nil }
        let index = source.index(key)
        guard index >= 0, index < source.count else { return nil }
        switch shape {
        case .assigned(let assignment):
            guard let place = assignment.place(of: index, &random) else { return nil }
            return target(at: place.owner, position: place.position)
        case .counted(let divisor):
            let count = (key - 1) / divisor
            // Beyond the last object, a constraint has room only for rows with NULL.
            if !isMandatory, divisor > 1, count >= destination.count { return nil }
            return target(at: count % destination.count, position: index)
        case .partner(let shift):
            let other = shift == 0 ? index : (index + shift + destination.count) % destination.count
            guard !isLeftOut(isLeading ? index : other) else { return nil }
            return target(at: other, position: 0)
        case .neighbours:
            let other = index ^ 1
            // The last object of an odd number has no neighbour.
            if other >= destination.count { return isMandatory ? target(at: index, position: 0) : nil }
            guard !isLeftOut(index & ~1) else { return nil }
            return target(at: other, position: 0)
        }
    }

    private func target(at index: Int64, position: Int64) -> Target? {
        guard index < destination.count else { return nil }
        let key = destination.key(index)
        return Target(key: key, number: destination.number(ofKey: key), orderKey: OrderKey.at(position))
    }

    /// Whether the pair with the leading side's index is left out; equal for both sides of the pair.
    private func isLeftOut(_ index: Int64) -> Bool {
        guard empty > 0 else { return false }
        var random = SeededRandom(seed: seed, stream, index)
        return random.below(100) < empty
    }
}

/// Deals objects to owners: the related owner of each object.
private struct Assignment {
    private let owners: Int64
    /// Nil if an object gets a random owner; else objects with adjacent keys have one owner.
    private let shares: Shares?
    private let limits: RelationshipLimits
    /// The percentage of objects that are left out, beyond the least number for each owner.
    private let empty: Int64

    init(of objects: Int64, to owners: Int64, limits: RelationshipLimits, isOrdered: Bool, empty: Int64) {
        self.owners = owners
        self.limits = limits
        self.empty = empty
        shares = isOrdered || !limits.isFree ? Shares(of: objects, among: owners) : nil
    }

    /// The owner, and the object's position among the owner's objects; nil for no owner.
    func place(of index: Int64, _ random: inout SeededRandom) -> (owner: Int64, position: Int64)? {
        let place = shares?.place(of: index)
        let isKept = place.map { $0.position < limits.least } ?? false
        guard isKept || empty == 0 || random.below(100) >= empty else { return nil }
        guard let place else { return (random.below(owners), 0) }
        return place.position < limits.most ? place : nil
    }
}

/// The order keys that Core Data gives to a new ordered relationship.
enum OrderKey {
    static func at(_ position: Int64) -> Int64 { 2_048 + 1_024 * position }
}

extension PropertyKey {
    var stream: UInt64 { "\(entity).\(property)".stream }
}

extension StoreLayout {
    /// Whether a constraint on this property alone makes its values unique.
    func isUnique(_ key: PropertyKey) -> Bool {
        model.entities.values.contains { entity in
            model.isKind(entity.name, of: key.entity) && entity.uniquenessConstraints.contains([key.property])
        }
    }
}

/// The column of a to-many relationship without an inverse, in the destination entity's rows.
struct InverselessMaker {
    let column: String
    private let owners: KeyRanges.Family
    private let objects: KeyRanges.Family
    private let assignment: Assignment

    init?(
        _ key: PropertyKey, _ storage: RelationshipStorage, endingIn entity: String, layout: StoreLayout,
        ranges: KeyRanges, options: GenerationOptions
    ) {
        guard case .inverseless(_, let column) = storage,
            let relationship = layout.model.relationship(key.property, of: key.entity),
            layout.model.isKind(entity, of: relationship.destinationEntity),
            let owners = ranges.families[key.entity], let objects = ranges.families[relationship.destinationEntity]
        else { return nil }
        self.column = column
        self.owners = owners
        self.objects = objects
        assignment = Assignment(
            of: objects.count, to: owners.count, limits: RelationshipLimits(relationship), isOrdered: false,
            empty: options.emptyPercent)
    }

    func value(of key: Int64, _ random: inout SeededRandom) -> Value {
        guard owners.count > 0, let place = assignment.place(of: objects.index(key), &random),
            place.owner < owners.count
        else { return .null }
        return .integer(owners.key(place.owner))
    }
}
