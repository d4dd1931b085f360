internal import FerryBase
internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// The chain that a list, or a function, puts together version by version.
    mutating func chosenPath() throws(FerryError) -> [Edge] {
        var current = source
        var path: [Edge] = []
        var passed = [source.hashes]
        while current.hashes != target.hashes {
            // Without a choice here the search finds the rest of the way.
            guard let (next, origin) = try next(after: current) else { return path + (try searchedPath(from: current)) }
            let (from, to) = (catalog.displayName(of: current), catalog.displayName(of: next))
            guard !passed.contains(next.hashes) else {
                throw FerryError(
                    .unreachable, "\(to) cannot follow \(from), as \(origin) says: the chain has passed it already.",
                    remedy: "Name each version once.")
            }
            path.append(try chosenEdge(from: current, to: next, saidBy: origin))
            passed.append(next.hashes)
            current = next
        }
        return path
    }

    private func chosenEdge(
        from current: ModelVersion, to next: ModelVersion, saidBy origin: String
    ) throws(FerryError) -> Edge {
        if let edge = explicitEdge(from: current, to: next) { return edge }
        guard route.infers else { throw missing(current, next, nil, saidBy: origin) }
        let (edge, obstacles) = infer(current, next)
        guard let edge else { throw missing(current, next, obstacles, saidBy: origin) }
        return edge
    }

    private func next(after current: ModelVersion) throws(FerryError) -> (ModelVersion, origin: String)? {
        switch route.choice {
        case .search: return nil
        case .list(let names, let origin): return (try listed(names, origin, after: current), origin)
        case .ask(let ask):
            let question = ChainRoute.Question(
                version: catalog.displayName(of: current), target: catalog.displayName(of: target),
                candidates: candidates(after: current))
            let origin = "the app's own choice"
            let name: String?
            do {
                name = try ask(question)
            } catch {
                throw (error as? FerryError)
                    ?? FerryError(
                        .unreachable, "The choice of the version after \(question.version) failed.",
                        remedy: "See the cause.", cause: error)
            }
            guard let name else { return nil }
            return (named(try version(name, saidBy: origin)), origin)
        }
    }

    private func listed(_ names: [String], _ origin: String, after current: ModelVersion) throws(FerryError)
        -> ModelVersion
    {
        var versions: [ModelVersion] = []
        for name in names {
            let version = named(try version(name, saidBy: origin))
            // Versions with equal hashes are one, however many names they have.
            if versions.last?.hashes != version.hashes { versions.append(version) }
        }
        let from = catalog.displayName(of: current)
        guard let place = versions.firstIndex(where: { $0.hashes == current.hashes }) else {
            throw FerryError(
                .unreachable, "The store is of version \(from), which \(origin) does not list.",
                remedy: "Add \(from) to it, before the version that follows.")
        }
        guard let end = versions.lastIndex(where: { $0.hashes == target.hashes }), end > place else {
            let to = catalog.displayName(of: target)
            throw FerryError(
                .unreachable, "\(origin) does not lead from \(from) to \(to).",
                remedy: "List \(to) after \(from), or name another version with \(setting: .target).")
        }
        return versions[place + 1]
    }

    private func version(_ name: String, saidBy origin: String) throws(FerryError) -> ModelVersion {
        do throws(FerryError) {
            return try catalog.version(named: name)
        } catch {
            var error = error
            error.message = "In \(origin): \(error.message)"
            throw error
        }
    }

    private func candidates(after current: ModelVersion) -> [String] {
        let all =
            edges.filter { $0.source.hashes == current.hashes }.map(\.destination)
            + inferable.filter { $0.source.hashes == current.hashes && $0.span == 1 }.map(\.destination)
        var names: [String] = []
        for name in all.map({ catalog.displayName(of: named($0)) }) where !names.contains(name) { names.append(name) }
        return names
    }
}
