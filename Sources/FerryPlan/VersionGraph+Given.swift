internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Given mapping models: one that leads on is used, or the run is refused.
extension VersionGraph {
    /// Takes the way over a given mapping model in place of an inferred mapping that would pass it over.
    ///
    /// The search follows the order of versions, which names may tell wrongly; a mapping model tells that one version
    /// follows another. Its way is taken if it loses nothing that the inferred one keeps.
    ///
    /// - Throws: ``FerryError`` `.ambiguousChain` if each way loses what the other keeps; `.unreachable` if no way
    ///   leads on from the mapping model's end, and passing it over loses something.
    mutating func takingGiven(_ path: [Edge], from start: ModelVersion) throws(FerryError) -> [Edge] {
        var path = path
        var tried: Set<Int> = []
        while let (place, given) = passedOver(by: path, start, besides: tried) {
            tried.insert(given)
            let edge = edges[given]
            let isFromStart = place != nil
            let before = place.map { Array(path[..<$0]) } ?? wayThere(from: start, to: edge.source)
            guard let before else { continue }
            let isBack = leadsBack(edge)
            guard let rest = wayOn(from: edge.destination, besides: before) else {
                guard isFromStart, !isBack, losses(of: path)?.isEmpty != true else { continue }
                throw deadEnd(edge)
            }
            let way = before + [edge] + rest
            guard let lost = losses(of: path), let less = losses(of: way) else {
                // A policy's losses are unknown; who gives a mapping model wants it.
                if isFromStart, !isBack { path = way }
                continue
            }
            let (onlyPath, onlyWay) = (lost.subtracting(less), less.subtracting(lost))
            if onlyWay.isEmpty, !onlyPath.isEmpty || (isFromStart && !isBack) {
                path = way
            } else if isFromStart, !held(onlyPath).isEmpty {
                guard held(onlyWay).isEmpty else { throw open(edge, way, path, held(onlyPath), held(onlyWay)) }
                path = way
            }
        }
        return path
    }

    /// Whether a mapping model leads to an older version: names tell it, unless the models come nearer to the target.
    private func leadsBack(_ edge: Edge) -> Bool {
        guard catalog.isDowngrade(from: edge.source, to: edge.destination) else { return false }
        return catalog.order == .identifiers || !isOnTheWay(edge, from: edge.source)
    }

    /// The first given mapping model beside a path: from a version that the path leaves by inference, with its place;
    /// else from a version that is not on the path.
    private func passedOver(
        by path: [Edge], _ start: ModelVersion, besides tried: Set<Int>
    ) -> (place: Int?, given: Int)? {
        let left = Set(edges.indices).subtracting(tried).subtracting(given(path)).sorted()
        for (place, edge) in path.enumerated() where edge.isInferred {
            if let given = left.first(where: { edges[$0].source.hashes == edge.source.hashes }) {
                return (place, given)
            }
        }
        let passed = [start.hashes] + path.map(\.destination.hashes)
        return left.first { !passed.contains(edges[$0].source.hashes) && edges[$0].destination.hashes != start.hashes }
            .map { (nil, $0) }
    }

    private func wayThere(from start: ModelVersion, to end: ModelVersion) -> [Edge]? {
        guard route.infers, let edge = infer(start, named(end)).0 else { return nil }
        return [edge]
    }

    /// The edges from the end of a mapping model to the target: further mapping models, else one inferred mapping.
    private mutating func wayOn(from start: ModelVersion, besides passed: [Edge]) -> [Edge]? {
        if start.hashes == target.hashes { return [] }
        let known = Set(passed.map { node($0.source) })
        var reached: [(version: ModelVersion, path: [Edge])] = [(start, [])]
        var next = 0
        // By the fewest edges: from each version that given mapping models reach, straight to the target.
        while next < reached.count {
            let (version, path) = reached[next]
            if version.hashes == target.hashes { return path }
            if route.infers, let edge = infer(named(version), target).0 { return path + [edge] }
            for edge in edges where edge.source.hashes == version.hashes {
                let isKnown =
                    known.contains(node(edge.destination))
                    || reached.contains { $0.version.hashes == edge.destination.hashes }
                if !isKnown { reached.append((edge.destination, path + [edge])) }
            }
            next += 1
        }
        return nil
    }

    /// Warnings of given mapping models that lead from a version of the path, or are on the way, and are not used.
    func warningsOfUnused(_ path: [Edge]) -> [FerryWarning] {
        guard case .automatic = route.choice else { return [] }
        let used = Set(path.flatMap { $0.mappingModels.map(\.path) })
        let left = path.filter(\.isInferred)
        let ends = Set(left.map(\.source.hashes))
        var passed = edges.indices.filter { ends.contains(edges[$0].source.hashes) }
        if !left.isEmpty {
            passed += edges.indices.filter { !passed.contains($0) && isOnTheWay(edges[$0], from: source) }
        }
        // Mapping models that follow one of these, too.
        while let next = edges.indices.first(where: { index in
            !passed.contains(index) && passed.contains { edges[$0].destination.hashes == edges[index].source.hashes }
        }) {
            passed.append(next)
        }
        // What leads on from the target is for a later migration.
        let target = path.last?.destination.hashes
        return passed.sorted().map { edges[$0] }.filter { $0.source.hashes != target }.flatMap { edge in
            edge.mappingModels.filter { !used.contains($0.path) }.map { model in
                let (from, to) = (catalog.displayName(of: edge.source), catalog.displayName(of: edge.destination))
                return FerryWarning(
                    .mappingNotUsed,
                    "The mapping model \(model.name) leads from \(from) to \(to) and is not used: the way over \(to) "
                        + "would lose more, or ends there.", about: .init(path: model.path))
            }
        }
    }

    // MARK: Refusals

    private func deadEnd(_ edge: Edge) -> FerryError {
        let (from, to) = (catalog.displayName(of: edge.source), catalog.displayName(of: edge.destination))
        let goal = catalog.displayName(of: target)
        let names = edge.mappingModels.map(\.name).joined(separator: ", ")
        return FerryError(
            .ambiguousChain,
            "The given mapping model \(names) leads from \(from) to \(to), but there is no way from there to \(goal); "
                + "\(from) → \(goal) can be inferred without it, and loses something.",
            remedy: """
                Add a mapping model from \(to) to \(goal) with \(setting: .mappings); or say with \
                \(setting: .chain, .some("the versions")) that \(goal) follows \(from).
                """)
    }

    private func open(
        _ edge: Edge, _ way: [Edge], _ path: [Edge], _ onlyPath: [StoredProperty], _ onlyWay: [StoredProperty]
    ) -> FerryError {
        let names = edge.mappingModels.map(\.name).joined(separator: ", ")
        return FerryError(
            .ambiguousChain,
            "\(words(way)), over the given mapping model \(names), loses \(onlyWay.words); "
                + "\(words(path)) loses \(onlyPath.words).",
            remedy: "Choose a route with \(setting: .chain, .some("the versions of one of them")).")
    }
}
