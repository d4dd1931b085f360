internal import FerryModel
internal import FerryStore

/// Which keys the rows of each entity have.
///
/// A table's keys are given out entity by entity in the order of their numbers, which walks a hierarchy from the top:
/// so an entity with everything below it has one unbroken range, and related keys are found by arithmetic alone.
struct KeyRanges {
    /// The objects of an entity and of those below it.
    struct Family {
        /// The key of the object with index 0.
        var first: Int64 = 1
        var count: Int64 = 0
        /// The last key of each entity with rows, with the entity's number.
        var ends: [(last: Int64, number: Int64)] = []

        func key(_ index: Int64) -> Int64 { first + index }
        func index(_ key: Int64) -> Int64 { key - first }

        /// The number of the entity that a key's row is of.
        func number(ofKey key: Int64) -> Int64 { ends.first { key <= $0.last }?.number ?? 0 }
    }

    /// Entity name to the keys of its own rows.
    private(set) var own: [String: Range<Int64>] = [:]
    private(set) var families: [String: Family] = [:]
    /// Root entity name to its highest key.
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
