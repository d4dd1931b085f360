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
            guard let (chosen, origin) = try next(after: current) else {
                return path + (try searchedPath(from: current))
            }
            let next = named(chosen)
            let (from, to) = (catalog.displayName(of: current), catalog.displayName(of: next))
            guard !passed.contains(next.hashes) else {
                throw FerryError(
                    .unreachable, "\(to) cannot follow \(from), as \(origin) says: the chain has passed it already.",
                    remedy: "Name each version once.")
            }
            // What is inferred goes by the identifiers of the version that was chosen, whatever the target calls itself.
            let end = chosen.hashes == target.hashes ? chosen : next
            path.append(try chosenEdge(from: current, to: end, saidBy: origin))
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
            return (try version(name, saidBy: origin), origin)
        }
    }

    private func listed(_ names: [String], _ origin: String, after current: ModelVersion) throws(FerryError)
        -> ModelVersion
    {
        var versions: [ModelVersion] = []
        for name in names {
            let version = try version(name, saidBy: origin)
            // Versions with equal hashes are one, however many names they have: that of the first is passed.
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

extension VersionGraph {
    /// The refusal of a way that mapping models would lead along which lie beside the models but were not given.
    ///
    /// Nil when none of them would be used, or those given do all that they would.
    static func refusal(
        ofMappingModels beside: [MappingModel], besides given: [MappingModel], catalog: ModelCatalog,
        from source: ModelVersion, to target: ModelVersion, route: ChainRoute
    ) -> FerryError? {
        let leading = beside.filter { model in
            do throws(FerryError) {
                return try !MappingEdge.all(of: [model], in: catalog).isEmpty
            } catch {
                // Of versions that are not there: it leads nowhere here.
                return false
            }
        }
        guard !leading.isEmpty else { return nil }
        let path: [Edge]
        do throws(FerryError) {
            var graph = try VersionGraph(
                catalog: catalog, mappingModels: given + leading, from: source, to: target, route: route)
            path = try graph.path()
        } catch {
            // What keeps the way from being found says more than this would.
            return nil
        }
        let paths = Set(leading.map(\.path))
        let missing = path.flatMap { edge in
            edge.mappingModels.filter { model in
                paths.contains(model.path)
                    && !model.isCovered(by: edge.mappingModels.filter { !paths.contains($0.path) })
            }.map { ($0, edge) }
        }
        guard !missing.isEmpty else { return nil }
        let list = missing.map { model, edge in
            "\(model.path) (\(catalog.displayName(of: edge.source)) → \(catalog.displayName(of: edge.destination)))"
        }
        let isOne = missing.count == 1
        return FerryError(
            .mappingsNotGiven,
            "\(isOne ? "A mapping model lies" : "Mapping models lie") beside the models, \(isOne ? "leads" : "lead") along "
                + "the way and \(isOne ? "is" : "are") not given: \(list.joined(separator: ", ")).",
            remedy: """
                Give \(isOne ? "it" : "them") with \
                \(setting: .mappings, each: missing.map { .element($0.0.path) }, separator: " "), or say with \
                \(on: .passesOverMappings) that \(isOne ? "it is" : "they are") not wanted.
                """)
    }
}

/// Which way a migration may take from version to version.
package struct ChainRoute: Sendable {
    /// What says which version comes next.
    package enum Choice: Sendable {
        /// The search: mapping models first, then inferred mappings.
        case search
        /// A list of versions by name, in their order; `origin` is what messages call it.
        case list([String], origin: String)
        /// A function that is asked version by version.
        case ask(@Sendable (Question) throws -> String?)
    }

    /// What is asked for each version of a chain.
    package struct Question: Sendable {
        /// The version that the chain has come to.
        package var version: String
        package var target: String
        /// Versions to which a mapping model leads from here, and the neighbour in version order.
        package var candidates: [String]
    }

    package var choice: Choice
    /// Whether a mapping is inferred where no mapping model leads on.
    package var infers: Bool
    /// Whether a target that is older than the store's version is one.
    package var allowsDowngrade: Bool

    package init(choice: Choice = .search, infers: Bool = true, allowsDowngrade: Bool = false) {
        self.choice = choice
        self.infers = infers
        self.allowsDowngrade = allowsDowngrade
    }
}
