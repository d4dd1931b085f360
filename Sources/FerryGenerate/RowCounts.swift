internal import FerryBase
internal import FerryModel
internal import FerryStore

/// How many rows each entity gets: those asked for, and more where the relationships of others need them.
///
/// A mandatory to-many relationship needs as many objects as it has owners, at least; a mandatory one-to-one needs a
/// partner for each. Entities whose rows were asked for by name keep them.
struct RowCounts {
    /// At least as many objects of one entity, with those below it, as another entity's objects ask for.
    private struct Need {
        var entity: String
        var owner: String
        /// `objects` for every `owners` of the owner's.
        var objects: Int64
        var owners: Int64
        /// Whether any at all will do.
        var isOne = false
        var relationship: PropertyKey

        func rows(for count: Int64) -> Int64 {
            guard count > 0 else { return 0 }
            if isOne { return objects }
            // A model may demand any number; what is beyond all numbers is refused like what is beyond the limit.
            let (product, overflow) = count.multipliedReportingOverflow(by: objects)
            return overflow ? .max : product / owners + (product % owners > 0 ? 1 : 0)
        }
    }

    /// No row count of a store comes near; a need that grows beyond it has no end.
    private static let limit: Int64 = 1_000_000_000_000

    /// Concrete entity to its own rows.
    private(set) var rows: [String: Int64] = [:]
    private let layout: StoreLayout
    private let named: Set<String>

    /// - Throws: `unsupported` when the rows asked for by name cannot be related as the model demands.
    init(_ layout: StoreLayout, options: GenerationOptions) throws(FerryError) {
        self.layout = layout
        named = Set(options.rowsOfEntity.keys)
        for entity in layout.model.entities.values where !entity.isAbstract {
            rows[entity.name] = max(0, options.rowsOfEntity[entity.name] ?? options.rows)
        }
        let needs = layout.relationshipStorage.sorted { $0.key < $1.key }.flatMap(self.needs)
        var isSettled = false
        // Each round can raise what the one before it needed; needs in a circle either settle soon or never.
        for _ in 0...needs.count where !isSettled {
            isSettled = true
            for need in needs {
                let wanted = need.rows(for: count(of: need.owner))
                guard count(of: need.entity) < wanted else { continue }
                try raise(to: wanted, for: need)
                isSettled = false
            }
        }
        guard isSettled else {
            throw FerryError(
                .unsupported, "The model's mandatory relationships need ever more objects of one another.",
                remedy: "Check the minimum counts of its relationships.")
        }
    }

    /// The rows of an entity and of those below it.
    func count(of entity: String) -> Int64 {
        layout.model.family(of: entity).reduce(0) { $0 + (rows[$1] ?? 0) }
    }

    private mutating func raise(to wanted: Int64, for need: Need) throws(FerryError) {
        let members = layout.model.family(of: need.entity).filter { rows[$0] != nil && !named.contains($0) }
            .sorted(by: codeUnitOrder)
        guard !members.isEmpty, wanted <= RowCounts.limit else {
            let place = need.relationship.title
            throw FerryError(
                .unsupported,
                "\(count(of: need.owner)) rows of \(need.owner) need \(wanted) of \(need.entity): \(place) says so.",
                remedy: "Ask for other numbers with \(setting: .rowsOf).", place: .init(entity: need.entity))
        }
        let missing = wanted - count(of: need.entity)
        let share = (missing + Int64(members.count) - 1) / Int64(members.count)
        for member in members { rows[member, default: 0] += share }
    }

    // MARK: Needs

    private func needs(of key: PropertyKey, _ storage: RelationshipStorage) -> [Need] {
        guard let relationship = layout.model.relationship(key.property, of: key.entity) else { return [] }
        let own = RelationshipLimits(relationship)
        let inverse = layout.model.inverse(of: relationship)
        let back = inverse.map(RelationshipLimits.init) ?? .none
        let (source, destination) = (inverse?.destinationEntity ?? key.entity, relationship.destinationEntity)
        func need(_ objects: Int64, of entity: String, for owners: Int64 = 1, _ owner: String, isOne: Bool = false)
            -> Need
        {
            Need(
                entity: entity, owner: owner, objects: objects, owners: owners, isOne: isOne, relationship: key)
        }
        switch storage {
        case .foreignKey:
            var needs: [Need] = []
            if own.least > 0 {
                let isExclusive = inverse?.isToMany == false || layout.isUnique(key)
                if isExclusive {
                    needs.append(need(1, of: destination, source))
                } else if back.most < .max {
                    needs.append(need(1, of: destination, for: back.most, source))
                } else {
                    needs.append(need(1, of: destination, source, isOne: true))
                }
            }
            if let inverse, inverse.isToMany, back.least > 0 {
                needs.append(need(back.least, of: source, destination))
            }
            return needs
        case .inverseless: return own.least > 0 ? [need(own.least, of: destination, source)] : []
        case .join:
            var needs: [Need] = []
            if own.least > 0 {
                needs.append(need(own.least, of: destination, source, isOne: true))
                if back.most < .max { needs.append(need(own.least, of: destination, for: back.most, source)) }
            }
            return needs
        case .inverseForeignKey: return []
        }
    }
}
