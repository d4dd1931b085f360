internal import FerryBase
internal import FerryModel
internal import FerryStore

/// The number of rows of each entity: the requested number, or more if relationships need more.
///
/// A mandatory to-many relationship needs at least as many objects as owners; a mandatory one-to-one relationship needs
/// a partner for each object. Entities with a requested number of their own keep that number.
struct RowCounts {
    /// The least number of objects of one entity, with its subentities, that another entity's objects need.
    private struct Need {
        var entity: String
        var owner: String
        /// The need is `objects` for every `owners` objects of the owner.
        var objects: Int64
        var owners: Int64
        /// Whether the need does not grow with the owners.
        var isOne = false
        var relationship: PropertyKey

        func rows(for count: Int64) -> Int64 {
            guard count > 0 else { return 0 }
            if isOne { return objects }
            // A model may demand any number; an overflow is refused like a number above the limit.
            let (product, overflow) = count.multipliedReportingOverflow(by: objects)
            return overflow ? .max : product / owners + (product % owners > 0 ? 1 : 0)
        }
    }

    /// No store has as many rows; a need above the limit grows without end.
    private static let limit: Int64 = 1_000_000_000_000

    /// Concrete entities and the numbers of their own rows.
    private(set) var rows: [String: Int64] = [:]
    private let layout: StoreLayout
    private let named: Set<String>

    /// - Throws: `unsupported` if the requested rows cannot be related as the model demands.
    init(_ layout: StoreLayout, options: GenerationOptions) throws(FerryError) {
        self.layout = layout
        named = Set(options.rowsOfEntity.keys)
        for entity in layout.model.entities.values where !entity.isAbstract {
            rows[entity.name] = max(0, options.rowsOfEntity[entity.name] ?? options.rows)
        }
        let needs = layout.relationshipStorage.inOrder { $0.key < $1.key }.flatMap(self.needs)
        var isSettled = false
        // Each round may raise the needs of the round before; needs in a cycle settle soon or never.
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
                .unsupported, "The model's mandatory relationships need an infinite number of objects.",
                remedy: "Check the minimum counts of its relationships.")
        }
    }

    /// The rows of an entity and its subentities.
    func count(of entity: String) -> Int64 {
        layout.model.family(of: entity).reduce(0) { $0 + (rows[$1] ?? 0) }
    }

    private mutating func raise(to wanted: Int64, for need: Need) throws(FerryError) {
        let members = layout.model.family(of: need.entity).filter { rows[$0] != nil && !named.contains($0) }
            .inOrder(by: codeUnitOrder)
        guard !members.isEmpty, wanted <= RowCounts.limit else {
            let place = need.relationship.title
            throw FerryError(
                .unsupported,
                "\(count(of: need.owner)) rows of \(need.owner) need \(wanted) of \(need.entity) (\(place)).",
                remedy: "Change the numbers with \(setting: .rowsOf).", place: .init(entity: need.entity))
        }
        let missing = wanted - count(of: need.entity)
        let share = (missing + Int64(members.count) - 1) / Int64(members.count)
        for member in members { rows[member, default: 0] += share }
    }

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

/// The primary keys of each entity's rows.
///
/// A table's keys are assigned entity by entity in the order of entity numbers, which lists each entity directly before
/// its subentities. So an entity with its subentities has one contiguous range, and arithmetic finds related keys.
struct KeyRanges {
    /// The objects of an entity and its subentities.
    struct Family {
        /// The key of the object with index 0.
        var first: Int64 = 1
        var count: Int64 = 0
        /// The last key of each entity with rows, and the entity's number.
        var ends: [(last: Int64, number: Int64)] = []

        func key(_ index: Int64) -> Int64 { first + index }
        func index(_ key: Int64) -> Int64 { key - first }

        /// The entity number of the row with this key.
        func number(ofKey key: Int64) -> Int64 { ends.first { key <= $0.last }?.number ?? 0 }
    }

    /// Entity names and the keys of their own rows.
    private(set) var own: [String: Range<Int64>] = [:]
    private(set) var families: [String: Family] = [:]
    /// Root entity names and their highest keys.
    private(set) var maximumKeys: [String: Int64] = [:]

    init(_ layout: StoreLayout, rows counts: RowCounts) {
        for table in layout.tablesInOrder {
            var next: Int64 = 1
            let entities = layout.entities(inTableOf: table.root)
            for entity in entities {
                let rows = counts.rows[entity] ?? 0
                own[entity] = next..<(next + rows)
                next += rows
            }
            maximumKeys[table.root] = next - 1
            for entity in entities { families[entity] = family(of: entity, in: layout) }
        }
    }

    private func family(of entity: String, in layout: StoreLayout) -> Family {
        var family = Family()
        let members = layout.entities(inTableOf: layout.model.root(of: entity))
            .filter { layout.model.isKind($0, of: entity) }
        for member in members {
            guard let range = own[member], !range.isEmpty else { continue }
            if family.count == 0 { family.first = range.lowerBound }
            family.count += Int64(range.count)
            family.ends.append((range.upperBound - 1, layout.entityNumbers[member] ?? 0))
        }
        return family
    }
}
