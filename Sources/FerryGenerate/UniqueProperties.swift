internal import FerryBase
internal import FerryModel
internal import FerryStore

/// The properties of an entity that must differ from row to row, so that its uniqueness constraints hold.
///
/// One attribute with room for all rows is enough for a constraint; else several properties count the rows together, as
/// the digits of a number do.
struct UniqueProperties {
    /// A property to what the row's key is divided by before the property counts it.
    private(set) var divisors: [String: Int64] = [:]
    private let entity: String
    private let layout: StoreLayout
    private let ranges: KeyRanges

    /// - Throws: `unsupported` when the properties of a constraint have fewer values than the table has keys.
    init(of entity: String, in layout: StoreLayout, ranges: KeyRanges) throws(FerryError) {
        self.entity = entity
        self.layout = layout
        self.ranges = ranges
        let model = layout.model
        let highestKey = ranges.maximumKeys[model.root(of: entity)] ?? 0
        // A constraint's index spans the table, so it binds the rows of every entity that has its properties.
        for member in layout.entities(inTableOf: model.root(of: entity)) {
            for constraint in model.entities[member]?.uniquenessConstraints ?? [] {
                try settle(constraint, of: member, highestKey: highestKey)
            }
        }
    }

    private mutating func settle(
        _ constraint: [String], of member: String, highestKey: Int64
    ) throws(FerryError) {
        let room = constraint.map { (name: $0, values: capacity(of: $0, in: member)) }
        // One that counts for another constraint already serves this one too.
        if room.contains(where: { divisors[$0.name] == 1 && $0.values >= highestKey }) { return }
        if let one = room.filter({ divisors[$0.name] == nil }).max(by: { $0.values < $1.values }),
            one.values >= highestKey
        {
            if isOfEntity(one.name, in: member) { divisors[one.name] = 1 }
            return
        }
        // The last digit may be one that another constraint has already.
        var product = room.filter { divisors[$0.name] == 1 }.map(\.values).max() ?? 1
        var digits: [String: Int64] = [:]
        for (name, values) in room.sorted(by: { ($1.values, $0.name) < ($0.values, $1.name) })
        where divisors[name] == nil && values > 1 && product < highestKey {
            digits[name] = product
            product = product.multipliedReportingOverflow(by: values).overflow ? .max : product * values
        }
        guard product >= highestKey else {
            throw FerryError(
                .unsupported,
                "\(highestKey) rows of \(member) cannot all differ in \(constraint.joined(separator: ", ")).",
                remedy: "Ask for fewer rows of this entity, or for more of those it leads to.",
                place: .init(entity: member))
        }
        for (name, divisor) in digits where isOfEntity(name, in: member) { divisors[name] = divisor }
    }

    private func isOfEntity(_ property: String, in member: String) -> Bool {
        layout.model.declaringEntity(of: property, in: member).map { layout.model.isKind(entity, of: $0) } ?? false
    }

    /// How many values the generator can make that differ.
    private func capacity(of property: String, in member: String) -> Int64 {
        if let attribute = layout.model.attribute(property, of: member) {
            return attribute.isDerived || attribute.isTransient ? 0 : ValueRange(attribute).capacity
        }
        guard let relationship = layout.model.relationship(property, of: member),
            case .foreignKey? = layout.storage(of: property, in: member)
        else { return 0 }
        // Each object of a one-to-one relationship has another partner, or none.
        if layout.model.inverse(of: relationship)?.isToMany == false { return .max }
        let count = ranges.families[relationship.destinationEntity]?.count ?? 0
        // Rows that lead nowhere do not count for a constraint, so an optional one has room for all.
        return relationship.isOptional && layout.isUnique(PropertyKey(member, property)) ? .max : count
    }
}
