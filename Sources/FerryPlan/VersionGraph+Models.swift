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

    /// The shortest path by lost properties, then by steps; of equal ones the first in the order of versions.
    private static func shortest(
        from first: Int, to last: Int, among count: Int, _ distances: ModelDistances, _ impossible: Set<[Int]>
    ) -> [Int]? {
        struct Way {
            var lost: Int
            var steps: Int
            var previous: Int?

            func isShorter(than other: Way) -> Bool { (lost, steps) < (other.lost, other.steps) }
        }
        var ways: [Int: Way] = [first: Way(lost: 0, steps: 0)]
        var done: Set<Int> = []
        while let next = (0..<count).filter({ ways[$0] != nil && !done.contains($0) })
            .min(by: { one, other in ways[one].flatMap { way in ways[other].map(way.isShorter) } ?? false }),
            let way = ways[next]
        {
            if next == last { break }
            done.insert(next)
            for other in 0..<count where !done.contains(other) && !impossible.contains([next, other]) {
                let longer = Way(
                    lost: way.lost + distances.lost(from: next, to: other), steps: way.steps + 1, previous: next)
                if ways[other].map(longer.isShorter) ?? true { ways[other] = longer }
            }
        }
        guard ways[last] != nil else { return nil }
        var path = [last]
        while let previous = path.first.flatMap({ ways[$0]?.previous }) { path.insert(previous, at: 0) }
        return path
    }
}

/// How many stored properties each of some models does not continue of another one, from names alone.
package struct ModelDistances {
    /// For each model, a bit for each of its properties, and for each name that it continues.
    private var properties: [[UInt64]]
    private var continued: [[UInt64]]

    package init(_ models: [ManagedObjectModel]) {
        var numbers: [String: Int] = [:]
        func number(_ name: String) -> Int {
            if let known = numbers[name] { return known }
            numbers[name] = numbers.count
            return numbers.count - 1
        }
        let names = models.map { model in
            model.entities.values.map { entity in
                let stored =
                    entity.attributes.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                    + entity.relationships.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }
                return (entity: entity, stored: stored)
            }
        }
        let own = names.map { entities in
            entities.flatMap { entity, stored in stored.map { number("\(entity.name).\($0.0)") } }
        }
        let accepted = names.map { entities in
            entities.flatMap { entity, stored in
                [entity.name, entity.renamingIdentifier].compactMap { $0 }.flatMap { owner in
                    stored.flatMap { [$0.0, $0.1].compactMap { $0 }.map { number("\(owner).\($0)") } }
                }
            }
        }
        let words = (numbers.count + 63) / 64
        func bits(_ list: [Int]) -> [UInt64] {
            var bits = [UInt64](repeating: 0, count: words)
            for number in list { bits[number / 64] |= 1 << UInt64(number % 64) }
            return bits
        }
        properties = own.map(bits)
        continued = accepted.map(bits)
    }

    package func lost(from source: Int, to destination: Int) -> Int {
        var count = 0
        for (own, kept) in zip(properties[source], continued[destination]) { count += (own & ~kept).nonzeroBitCount }
        return count
    }
}
