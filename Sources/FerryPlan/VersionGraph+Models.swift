internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// The order of versions as their models tell it, where names tell a worse one.
extension VersionGraph {
    /// The most inferences that one search tries: each takes milliseconds for large models.
    private static let mostInferences = 40

    /// Returns a path that loses less than the given one, or that uses given mapping models which it passes over; else
    /// that one.
    ///
    /// - Parameters:
    ///   - path: A path by the order of versions; nil if there is none.
    ///   - start: Its first version.
    /// - Returns: The path, with the reason as a note; nil if there is none.
    mutating func keepingMostByModels(_ path: [Edge]?, from start: ModelVersion) -> [Edge]? {
        guard route.infers, catalog.order != .identifiers, node(start) >= 0, catalog.versions.count > 2 else {
            return path
        }
        // One mapping model that leads all the way is on the way, whatever it loses.
        if let path, path.count == 1, !path[0].isInferred { return path }
        var lost: Set<StoredProperty> = []
        if let path {
            guard let known = losses(of: path), !known.isEmpty || passesOver(path) else { return path }
            lost = known
        }
        guard let path else {
            // Without another path, a mapping model that cannot run yet is part of it, and refused with its own reason.
            guard let found = pathByModels(from: start) ?? pathByModels(from: start, overRefused: true) else {
                return nil
            }
            routeNotes.append("The order of the versions \(words(found)) follows from their models.")
            return found
        }
        guard let found = pathByModels(from: start) else { return path }
        guard words(found) != words(path), let less = losses(of: found) else { return path }
        let unused = given(path).subtracting(given(found))
        if less.isStrictSubset(of: lost), unused.allSatisfy({ !isOnTheWay(edges[$0], from: start) }) {
            let kept = held(lost.subtracting(less)).map(\.name).joined(separator: ", ")
            routeNotes.append(
                "\(words(found)) was preferred to \(words(path)), the order of names, which would lose \(kept): the "
                    + "order follows from the models.")
            return found
        }
        let more = given(found).subtracting(given(path)).sorted()
        guard unused.isEmpty, !more.isEmpty, more.allSatisfy({ isOnTheWay(edges[$0], from: start) }),
            !less.isStrictSuperset(of: lost)
        else { return path }
        let used = more.flatMap { edges[$0].mappingModels.map(\.name) }
        routeNotes.append(
            "\(words(found)) was preferred to \(words(path)), the order of names, which would not use "
                + "\(used.joined(separator: ", ")): the order follows from the models.")
        return found
    }

    private func words(_ path: [Edge]) -> String { names(of: path).joined(separator: " → ") }

    /// The given mapping models that a path uses, by their places in ``edges``.
    private func given(_ path: [Edge]) -> Set<Int> {
        Set(
            edges.indices.filter { given in
                path.contains {
                    !$0.isInferred && $0.leads(from: edges[given].source, to: edges[given].destination)
                }
            })
    }

    private func passesOver(_ path: [Edge]) -> Bool { given(path).count < edges.count }

    /// Whether a mapping model leads to a model that has more of the target, and begins at the start or nearer than it.
    ///
    /// Names decide between models that lack as much of it.
    func isOnTheWay(_ edge: Edge, from start: ModelVersion) -> Bool {
        let distances = ModelDistances([start, edge.source, edge.destination, target].map { named($0).model })
        let missing = (0..<3).map { distances.missing(from: $0, to: 3) }
        let leadsOn =
            missing[2] == missing[1]
            ? edge.destination.hashes == target.hashes || catalog.isBefore(edge.source, edge.destination)
            : missing[2] < missing[1]
        guard leadsOn, edge.source.hashes != start.hashes else { return leadsOn }
        return missing[1] == missing[0] ? catalog.isBefore(start, edge.source) : missing[1] < missing[0]
    }

    /// Returns the path over all versions that keeps most properties from version to version, then has the fewest steps.
    ///
    /// A mapping model that cannot run counts only with `overRefused`, and then as if it kept every property.
    private func pathByModels(from start: ModelVersion, overRefused: Bool = false) -> [Edge]? {
        let nodes = catalog.versions.indices.filter { node(catalog.versions[$0]) == $0 }.map { catalog.versions[$0] }
        guard let first = nodes.firstIndex(where: { $0.hashes == start.hashes }),
            let last = nodes.firstIndex(where: { $0.hashes == target.hashes }), nodes.count > 2
        else { return nil }
        var search = ModelSearch(ModelDistances(nodes.map { named($0).model }), from: first, to: last)
        var known: [[Int]: Edge] = [:]
        for edge in edges {
            guard let from = nodes.firstIndex(where: { $0.hashes == edge.source.hashes }),
                let to = nodes.firstIndex(where: { $0.hashes == edge.destination.hashes }), from != to
            else { continue }
            let resolution = edge.resolved(policies)
            let isRefused = !resolution.problems.isEmpty
            guard !isRefused || overRefused else { continue }
            known[[from, to]] = edge
            search.distances.add(isRefused ? nil : resolution.step, from: from, to: to)
        }
        for _ in 0..<Self.mostInferences {
            guard let way = search.shortest() else { return nil }
            var path: [Edge] = []
            for (from, to) in zip(way, way.dropFirst()) {
                let edge = known[[from, to]] ?? infer(named(nodes[from]), named(nodes[to])).0
                known[[from, to]] = edge
                guard let edge else {
                    search.impossible.insert([from, to])
                    break
                }
                path.append(edge)
            }
            if path.count == way.count - 1 { return path }
        }
        return nil
    }
}

/// Finds the path over models that keeps most properties of its first one.
private struct ModelSearch {
    var distances: ModelDistances
    /// Pairs of models between which no mapping can be inferred.
    var impossible: Set<[Int]> = []
    private let first: Int
    private let last: Int

    init(_ distances: ModelDistances, from first: Int, to last: Int) {
        (self.distances, self.first, self.last) = (distances, first, last)
    }

    /// A path to a model.
    private struct Way {
        var kept: [ModelDistances.Kept]
        /// How often it leads away from the target by inference.
        var turns = 0
        /// The properties in which the models of its inferred mappings differ, if there are mapping models.
        var inferred = 0
        var steps = 0
        var previous: Int?

        var rank: (Int, Int, Int, Int) { (-kept.origins, turns, inferred, steps) }
    }

    /// The path that keeps most properties of the first model, then uses mapping models where they lead on, then has the
    /// fewest steps.
    ///
    /// Of equal ones it is the first in the order of versions. Each version is reached by one path, so that the result
    /// is near the best one; ``VersionGraph/losses(of:)`` compares it.
    func shortest() -> [Int]? {
        let count = distances.count
        var ways: [Way?] = Array(repeating: nil, count: count)
        // What no path can bring to the end must not weigh on the choice.
        let lasting = distances.lasting(to: last)
        let missing = distances.hasMappings ? (0..<count).map { distances.missing(from: $0, to: last) } : []
        ways[first] = Way(
            kept: distances.properties(of: first).filter { lasting[first][Int($0)] }
                .map { ModelDistances.Kept(origin: $0, property: $0) })
        var open = Set([first])
        var done: Set<Int> = []
        while let next = open.sorted().min(by: { one, other in
            guard let way = ways[one], let another = ways[other] else { return false }
            return way.rank < another.rank
        }), let way = ways[next] {
            open.remove(next)
            done.insert(next)
            if next == last { break }
            for other in 0..<count where !done.contains(other) && !impossible.contains([next, other]) {
                var longer = way
                longer.kept = distances.continued(way.kept, of: next, in: other).filter { kept in
                    kept.property < 0 || lasting[other][Int(kept.property)]
                }
                if distances.hasMappings, !distances.hasMapping(from: next, to: other) {
                    longer.inferred += distances.distance(from: next, to: other)
                    // Names decide if the models lack as much of the target.
                    if (missing[other], next) > (missing[next], other) { longer.turns += 1 }
                }
                (longer.steps, longer.previous) = (way.steps + 1, next)
                if let known = ways[other], known.rank <= longer.rank { continue }
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
