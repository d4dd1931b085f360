internal import FerryBase

extension ManagedObjectModel {
    /// Checks what everything else relies on: parents, destinations and composites exist, nothing holds itself, and
    /// no name is declared twice in one entity.
    ///
    /// - Parameter path: Where the model comes from, for the error.
    /// - Throws: `.badModel` with the first problem, in name order.
    func check(path: String) throws(FerryError) {
        try Self.checkLineages(of: Array(entities.values), path: path)
        try checkParents(path: path)
        for name in sortedEntityNames {
            guard let entity = entities[name] else { continue }
            if let problem = problem(of: entity) ?? compositeProblem(of: entity) { throw Self.unusable(path, problem) }
        }
    }

    /// Checks that the ancestors of entities come to an end.
    ///
    /// - Throws: `.badModel` with the first problem, in name order.
    static func checkLineages(of entities: [Entity], path: String) throws(FerryError) {
        if let problem = lineageProblem(of: entities) { throw unusable(path, problem) }
    }

    /// What is wrong with the ancestors of entities: a circle, or more of them than ``lineageLimit``; nil when nothing is.
    ///
    /// Looks at each entity once, so that it can be asked of entities that no model holds yet.
    static func lineageProblem(of entities: [Entity]) -> String? {
        let parents = Dictionary(
            entities.map { ($0.name, $0.superentity) }, uniquingKeysWith: { first, _ in first })
        var depths: [String: Int] = [:]
        for name in parents.keys.sorted(by: codeUnitOrder) {
            var way: [String] = []
            var next: String? = name
            while let current = next, depths[current] == nil, let parent = parents[current] {
                if current == name, !way.isEmpty { return "the entity '\(name)' is its own ancestor" }
                way.append(current)
                guard way.count <= lineageLimit + 1 else {
                    return "'\(name)' has more than \(lineageLimit) ancestors"
                }
                next = parent
            }
            var depth = next.flatMap { depths[$0] } ?? 0
            for passed in way.reversed() {
                depth += 1
                guard depth <= lineageLimit + 1 else {
                    return "'\(passed)' has more than \(lineageLimit) ancestors"
                }
                depths[passed] = depth
            }
        }
        return nil
    }

    /// Checks that every entity's ancestors exist.
    private func checkParents(path: String) throws(FerryError) {
        for name in sortedEntityNames {
            if let parent = entities[name]?.superentity, entities[parent] == nil {
                throw Self.unusable(path, "'\(name)' has the unknown parent '\(parent)'")
            }
        }
    }

    private static func unusable(_ path: String, _ problem: String) -> FerryError {
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
