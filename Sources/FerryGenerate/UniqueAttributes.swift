internal import FerryBase
internal import FerryModel
internal import FerryStore

/// The attributes of an entity that must differ from row to row, so that its uniqueness constraints hold.
struct UniqueAttributes {
    /// One attribute of each constraint is enough.
    private(set) var names: Set<String> = []

    /// - Throws: `unsupported` when a constraint has no attribute with as many values as there are rows.
    init(of entity: String, in layout: StoreLayout, rows: Int64) throws(FerryError) {
        // A subentity's constraint counts for the whole table's index, so every row of the table keeps it.
        let root = layout.model.root(of: entity)
        for member in layout.entities(inTableOf: root) where layout.model.isRelated(member, entity) {
            for constraint in layout.model.entities[member]?.uniquenessConstraints ?? [] {
                let attributes = constraint.compactMap { layout.model.attribute($0, of: member) }
                if let best = attributes.max(by: { capacity($0) < capacity($1) }), capacity(best) >= rows {
                    names.insert(best.name)
                } else if attributes.count == constraint.count, rows > 1 {
                    throw FerryError(
                        .unsupported,
                        "\(rows) rows of \(entity) cannot all differ in \(constraint.joined(separator: ", ")).",
                        remedy: "Ask for fewer rows of this entity.", place: .init(entity: entity))
                }
            }
        }
    }

    /// How many values the generator can make that differ.
    private func capacity(_ attribute: Attribute) -> Int64 {
        switch attribute.type {
        case .integer16: Int64(Int16.max)
        case .float: 1 << 24
        case .integer32, .date: Int64(Int32.max)
        case .integer64, .string, .uri, .uuid, .double, .decimal, .binary, .transformable: .max
        case .boolean: 2
        case .undefined, .objectID, .composite: 0
        }
    }
}

extension ManagedObjectModel {
    /// Whether one of two entities is the other or below it.
    fileprivate func isRelated(_ one: String, _ other: String) -> Bool {
        isKind(one, of: other) || isKind(other, of: one)
    }
}
