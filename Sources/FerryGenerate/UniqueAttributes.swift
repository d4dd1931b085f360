internal import FerryBase
internal import FerryModel
internal import FerryStore

/// The attributes of an entity that must differ from row to row, so that its uniqueness constraints hold.
struct UniqueAttributes {
    /// One attribute of each constraint is enough.
    private(set) var names: Set<String> = []

    /// - Throws: `unsupported` when a constraint has no attribute with as many values as the table has keys.
    init(of entity: String, in layout: StoreLayout, highestKey: Int64) throws(FerryError) {
        let model = layout.model
        // A constraint's index spans the table, so it binds the rows of every entity that has its attributes.
        for member in layout.entities(inTableOf: model.root(of: entity)) {
            for constraint in model.entities[member]?.uniquenessConstraints ?? [] {
                let attributes = constraint.compactMap { model.attribute($0, of: member) }
                if let best = attributes.max(by: { capacity($0) < capacity($1) }), capacity(best) >= highestKey {
                    let declaring = model.declaringEntity(of: best.name, in: member)
                    if let declaring, model.isKind(entity, of: declaring) { names.insert(best.name) }
                } else if attributes.count == constraint.count {
                    throw FerryError(
                        .unsupported,
                        "\(highestKey) rows of \(member) cannot all differ in \(constraint.joined(separator: ", ")).",
                        remedy: "Ask for fewer rows of this entity.", place: .init(entity: member))
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
