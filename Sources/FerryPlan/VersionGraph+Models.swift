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
        guard let path else {
            // Without another path, a mapping model that cannot run yet is part of it, and refused with its own reason.
            guard let found = pathByModels(from: start) ?? pathByModels(from: start, overRefused: true) else {
                return nil
            }
            routeNotes.append("The order of the versions \(words(found)) follows from their models.")
            return found
        }
        let (used, isGiven) = (given(path), path.count == 1 && !path[0].isInferred)
        // One mapping model that leads all the way is on the way, whatever it loses.
        guard !isGiven, let lost = losses(of: path), !lost.isEmpty || used.count < edges.count,
            let found = pathByModels(from: start), words(found) != words(path), let less = losses(of: found)
        else { return path }
        let unused = used.subtracting(given(found))
        if less.isStrictSubset(of: lost), unused.allSatisfy({ !isOnTheWay(edges[$0], from: start) }) {
            let kept = held(lost.subtracting(less)).words
            routeNotes.append(
                "\(words(found)) was preferred to \(words(path)), the order of names, which would lose \(kept): the "
                    + "order follows from the models.")
            return found
        }
        let more = given(found).subtracting(used).sorted()
        guard unused.isEmpty, !more.isEmpty, more.allSatisfy({ isOnTheWay(edges[$0], from: start) }),
            !less.isStrictSuperset(of: lost)
        else { return path }
        let names = more.flatMap { edges[$0].mappingModels.map(\.name) }
        routeNotes.append(
            "\(words(found)) was preferred to \(words(path)), the order of names, which would not use "
                + "\(names.joined(separator: ", ")): the order follows from the models.")
        return found
    }

    /// The given mapping models that a path uses, by their places in ``edges``.
    func given(_ path: [Edge]) -> Set<Int> {
        Set(
            edges.indices.filter { given in
                path.contains {
                    !$0.isInferred && $0.leads(from: edges[given].source, to: edges[given].destination)
                }
            })
    }

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
            let carriers = isRefused ? nil : StepCarriers(resolution.step)
            search.distances.add(
                from: from, to: to, carriers.map { carriers in { carriers.continuations(of: $1, declaredBy: $0) } })
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
