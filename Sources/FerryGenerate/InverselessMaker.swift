internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The column of a to-many relationship without inverse, in the rows it ends in.
struct InverselessMaker {
    let column: String
    private let owners: KeyRanges.Family
    private let objects: KeyRanges.Family
    private let limits: RelationshipLimits
    private let shares: Shares
    /// Of a hundred.
    private let empty: Int64

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
        limits = RelationshipLimits(relationship)
        shares = Shares(of: objects.count, among: owners.count)
        empty = options.emptyPercent
    }

    func value(of key: Int64, _ random: inout SeededRandom) -> Value {
        guard owners.count > 0 else { return .null }
        guard !limits.isFree else {
            guard random.below(100) >= empty else { return .null }
            return .integer(owners.key(random.below(owners.count)))
        }
        let place = shares.place(of: objects.index(key))
        guard place.owner < owners.count, place.position < limits.most,
            place.position < limits.least || random.below(100) >= empty
        else { return .null }
        return .integer(owners.key(place.owner))
    }
}
