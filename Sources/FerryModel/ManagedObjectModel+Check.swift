internal import FerryBase

extension ManagedObjectModel {
    /// Checks what everything else relies on: parents, destinations and composites exist, nothing holds itself, and
    /// no name is declared twice in one entity.
    ///
    /// - Parameter path: Where the model comes from, for the error.
    /// - Throws: `.badModel` with the first problem, in name order.
    func check(path: String) throws(FerryError) {
        try checkLineages(path: path)
        for name in sortedEntityNames {
            guard let entity = entities[name] else { continue }
            if let problem = problem(of: entity) ?? compositeProblem(of: entity) { throw unusable(path, problem) }
        }
    }

    /// Checks that every entity's ancestors exist and come to an end.
    ///
    /// - Throws: `.badModel` with the first problem, in name order.
    func checkLineages(path: String) throws(FerryError) {
        for name in sortedEntityNames {
            // Nobody nests entities this deep; every walk up the ancestors stays short.
            let limit = 100
            var count = 0
            var current = name
            while let ancestor = entities[current]?.superentity {
                count += 1
                guard ancestor != name else { throw unusable(path, "the entity '\(name)' is its own ancestor") }
                guard entities[ancestor] != nil else {
                    throw unusable(path, "'\(current)' has the unknown parent '\(ancestor)'")
                }
                guard count <= limit else { throw unusable(path, "'\(name)' has more than \(limit) ancestors") }
                current = ancestor
            }
        }
    }

    private func unusable(_ path: String, _ problem: String) -> FerryError {
        FerryError(
            .badModel, "The model \(path) cannot be used: \(problem).",
            remedy: "Correct it in Xcode, or take an undamaged copy.")
    }

    private func problem(of entity: Entity) -> String? {
        let name = entity.name
        let properties = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        if let twice = properties.firstRepeated { return "'\(name)' declares the property '\(twice)' twice" }
        for relationship in entity.relationships where entities[relationship.destinationEntity] == nil {
            return "the relationship '\(name).\(relationship.name)' leads to the unknown entity "
                + "'\(relationship.destinationEntity)'"
        }
        return nil
    }

    private func compositeProblem(of entity: Entity) -> String? {
        for attribute in entity.attributes {
            guard let composite = attribute.compositeName else { continue }
            let place = "'\(entity.name).\(attribute.name)'"
            if composites[composite] == nil { return "\(place) uses the unknown composite '\(composite)'" }
            var counts: [String: Int] = [:]
            guard leafCount(of: composite, depth: 0, counts: &counts) != nil else {
                return "\(place) is a composite that holds itself, an unknown one, or too many elements"
            }
        }
        return nil
    }

    /// How many columns a composite unfolds to; nil when it does not end or has more than a table can hold.
    private func leafCount(of composite: String, depth: Int, counts: inout [String: Int]) -> Int? {
        if let known = counts[composite] { return known }
        // SQLite's default limit of columns in a table.
        let limit = 2000
        guard depth < 32, let elements = composites[composite] else { return nil }
        var count = 0
        for element in elements {
            var leaves = 1
            if let nested = element.compositeName {
                guard let nestedCount = leafCount(of: nested, depth: depth + 1, counts: &counts) else { return nil }
                leaves = nestedCount
            }
            count += leaves
            guard count <= limit else { return nil }
        }
        counts[composite] = count
        return count
    }
}
