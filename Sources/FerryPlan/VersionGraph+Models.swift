internal import FerryBase
internal import FerryMapping
package import FerryModel

/// The order of versions as their models tell it, where names tell a worse one.
extension VersionGraph {
    /// The most inferences that one search tries: each takes milliseconds for large models.
    private static let mostInferences = 40

    /// Returns a path of inferred mappings that loses less than the given one; else that one.
    ///
    /// - Parameters:
    ///   - path: A path of inferred mappings, by the order of versions; nil if there is none.
    ///   - start: Its first version.
    /// - Returns: The path, with the reason as a note; nil if there is none.
    mutating func keepingMostByModels(_ path: [Edge]?, from start: ModelVersion) -> [Edge]? {
        guard route.infers, catalog.order != .identifiers, node(start) >= 0, edges.isEmpty else { return path }
        var lost: Set<StoredProperty>?
        if let path {
            guard let known = losses(of: path), !known.isEmpty else { return path }
            lost = known
        }
        guard let found = pathByModels(from: start) else { return path }
        guard let lost, let path else {
            routeNotes.append("The order of the versions \(words(found)) follows from their models.")
            return found
        }
        guard words(found) != words(path), let less = losses(of: found), less.isStrictSubset(of: lost) else {
            return path
        }
        let kept = held(lost.subtracting(less)).map(\.name).joined(separator: ", ")
        routeNotes.append(
            "\(words(found)) was preferred to \(words(path)), the order of names, which would lose \(kept): the order "
                + "follows from the models.")
        return found
    }

    private func words(_ path: [Edge]) -> String { names(of: path).joined(separator: " → ") }

    /// Returns the path over all versions that keeps most properties from version to version, then has the fewest steps.
    private func pathByModels(from start: ModelVersion) -> [Edge]? {
        let nodes = catalog.versions.indices.filter { node(catalog.versions[$0]) == $0 }.map { catalog.versions[$0] }
        guard let first = nodes.firstIndex(where: { $0.hashes == start.hashes }),
            let last = nodes.firstIndex(where: { $0.hashes == target.hashes }), nodes.count > 2
        else { return nil }
        let distances = ModelDistances(nodes.map { named($0).model })
        var impossible: Set<[Int]> = []
        var inferred: [[Int]: Edge] = [:]
        for _ in 0..<Self.mostInferences {
            guard let way = Self.shortest(from: first, to: last, among: nodes.count, distances, impossible) else {
                return nil
            }
            var path: [Edge] = []
            for (from, to) in zip(way, way.dropFirst()) {
                let edge = inferred[[from, to]] ?? infer(named(nodes[from]), named(nodes[to])).0
                inferred[[from, to]] = edge
                guard let edge else {
                    impossible.insert([from, to])
                    break
                }
                path.append(edge)
            }
            if path.count == way.count - 1 { return path }
        }
        return nil
    }

    /// The path that keeps most properties of its first version, then has the fewest steps.
    ///
    /// Of equal ones it is the first in the order of versions. Each version is reached by one path, so that the result
    /// is near the best one; ``losses(of:)`` compares it.
    private static func shortest(
        from first: Int, to last: Int, among count: Int, _ distances: ModelDistances, _ impossible: Set<[Int]>
    ) -> [Int]? {
        struct Way {
            var kept: [Int32]
            var steps: Int
            var previous: Int?

            func isBetter(than other: Way) -> Bool {
                kept.count == other.kept.count ? steps < other.steps : kept.count > other.kept.count
            }
        }
        var ways: [Way?] = Array(repeating: nil, count: count)
        // What no path can bring to the end must not weigh on the choice.
        let lasting = distances.lasting(to: last)
        ways[first] = Way(kept: distances.properties(of: first).filter { lasting[first][Int($0)] }, steps: 0)
        var open = Set([first])
        var done: Set<Int> = []
        while let next = open.sorted().min(by: { one, other in
            guard let way = ways[one], let another = ways[other] else { return false }
            return way.isBetter(than: another)
        }), let way = ways[next] {
            open.remove(next)
            done.insert(next)
            if next == last { break }
            for other in 0..<count where !done.contains(other) && !impossible.contains([next, other]) {
                let kept = distances.continued(way.kept, of: next, in: other).filter { lasting[other][Int($0)] }
                let longer = Way(kept: kept, steps: way.steps + 1, previous: next)
                if let known = ways[other], !longer.isBetter(than: known) { continue }
                ways[other] = longer
                open.insert(other)
            }
        }
        guard ways[last] != nil else { return nil }
        var path = [last]
        while let previous = path.first.flatMap({ ways[$0]?.previous }) { path.insert(previous, at: 0) }
        return path
    }
}

/// The stored properties of models, and which of them another model continues, from names alone.
package struct ModelDistances {
    /// For each model the numbers of its properties.
    private var own: [[Int32]]
    /// For each model, by the number of a name that it continues: the number of its property; −1 for none.
    private var successors: [[Int32]]
    /// For each model, by the number of its property: the number of the name by its renaming identifiers; −1 for none.
    private var aliases: [[Int32]]

    package init(_ models: [ManagedObjectModel]) {
        var numbers: [String: Int32] = [:]
        func number(_ name: String) -> Int32 {
            if let known = numbers[name] { return known }
            numbers[name] = Int32(numbers.count)
            return Int32(numbers.count - 1)
        }
        var all: [[(property: Int32, names: [Int32])]] = []
        for model in models {
            var properties: [(property: Int32, names: [Int32])] = []
            for name in model.sortedEntityNames {
                guard let entity = model.entities[name] else { continue }
                let stored =
                    entity.attributes.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                    + entity.relationships.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                let owners = [entity.renamingIdentifier, name].compactMap { $0 }
                for (property, identifier) in stored {
                    // A renaming identifier goes before an equal name.
                    let names = owners.flatMap { owner in
                        [identifier, property].compactMap { $0 }.map { number("\(owner).\($0)") }
                    }
                    properties.append((number("\(name).\(property)"), names))
                }
            }
            all.append(properties)
        }
        own = all.map { $0.map(\.property) }
        aliases = all.map { properties in
            var aliases = [Int32](repeating: -1, count: numbers.count)
            for (property, names) in properties {
                if let first = names.first, first != property { aliases[Int(property)] = first }
            }
            return aliases
        }
        successors = all.map { properties in
            var successors = [Int32](repeating: -1, count: numbers.count)
            for (property, names) in properties {
                for name in names where successors[Int(name)] < 0 { successors[Int(name)] = property }
            }
            return successors
        }
    }

    package func properties(of model: Int) -> [Int32] { own[model] }

    /// The properties of a model that continue these of another one.
    package func continued(_ properties: [Int32], of source: Int, in model: Int) -> [Int32] {
        var kept: [Int32] = []
        kept.reserveCapacity(properties.count)
        for property in properties {
            if let successor = successor(of: property, in: source, among: model) { kept.append(successor) }
        }
        return kept
    }

    private func successor(of property: Int32, in source: Int, among model: Int) -> Int32? {
        let alias = aliases[source][Int(property)]
        if alias >= 0, successors[model][Int(alias)] >= 0 { return successors[model][Int(alias)] }
        let successor = successors[model][Int(property)]
        return successor >= 0 ? successor : nil
    }

    /// For each model, by the number of a property: whether a path of models continues it to the last one.
    func lasting(to last: Int) -> [[Bool]] {
        let none = [Bool](repeating: false, count: successors.first?.count ?? 0)
        var lasting = Array(repeating: none, count: own.count)
        for property in own[last] { lasting[last][Int(property)] = true }
        var changed = Set([last])
        while !changed.isEmpty {
            var next: Set<Int> = []
            for model in own.indices where model != last {
                for other in changed where other != model {
                    for property in own[model] where !lasting[model][Int(property)] {
                        guard let successor = successor(of: property, in: model, among: other),
                            lasting[other][Int(successor)]
                        else { continue }
                        lasting[model][Int(property)] = true
                        next.insert(model)
                    }
                }
            }
            changed = next
        }
        return lasting
    }
}
