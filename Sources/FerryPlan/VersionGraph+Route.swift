package import FerryBase
internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// Builds the path version by version, from a list or a function.
    mutating func chosenPath() throws(FerryError) -> [Edge] {
        var current = source
        var path: [Edge] = []
        var passed = [source.hashes]
        var listed: [ModelVersion] = []
        if case .versions(let names) = route.choice { listed = try versions(named: names) }
        while current.hashes != target.hashes {
            // Without a choice the search finds the rest of the path.
            guard let (chosen, origin) = try next(after: current, in: listed) else {
                return path + (try searchedPath(from: current))
            }
            let next = named(chosen)
            let (from, to) = (catalog.displayName(of: current), catalog.displayName(of: next))
            guard !passed.contains(next.hashes) else {
                throw FerryError(
                    .unreachable, "\(to) cannot follow \(from), as \(origin) says: the chain already includes it.",
                    remedy: "List each version once.")
            }
            // At the target, inference uses the renaming identifiers of the chosen version.
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

    /// The version that the app names after another one, or nil; `listed` are those of a list.
    private func next(
        after current: ModelVersion, in listed: [ModelVersion]
    ) throws(FerryError) -> (ModelVersion, origin: String)? {
        switch route.choice {
        case .automatic: return nil
        case .versions: return (try version(after: current, in: listed), route.origin)
        case .next(let ask):
            let question = VersionQuestion(
                version: catalog.displayName(of: current), target: catalog.displayName(of: target),
                candidates: candidates(after: current))
            let origin = "the app's own choice"
            let name: String?
            do {
                name = try ask(question)
            } catch {
                throw (error as? FerryError)
                    ?? FerryError(
                        .unreachable, "The app's choice of the version after \(question.version) failed.",
                        remedy: "See the cause.", cause: error)
            }
            guard let name else { return nil }
            return (try catalog.version(named: name, in: "In \(origin)"), origin)
        }
    }

    /// The versions of a list; those with equal hashes count once, under the first name.
    private func versions(named names: [String]) throws(FerryError) -> [ModelVersion] {
        var versions: [ModelVersion] = []
        for name in names {
            let version = try catalog.version(named: name, in: "In \(route.origin)")
            if versions.last?.hashes != version.hashes { versions.append(version) }
        }
        return versions
    }

    private func version(
        after current: ModelVersion, in versions: [ModelVersion]
    ) throws(FerryError) -> ModelVersion {
        let from = catalog.displayName(of: current)
        guard let place = versions.firstIndex(where: { $0.hashes == current.hashes }) else {
            throw FerryError(
                .unreachable, "The store has version \(from), which is not in \(route.origin).",
                remedy: "Add \(from) to it, before the version that follows.")
        }
        guard let end = versions.lastIndex(where: { $0.hashes == target.hashes }), end > place else {
            let to = catalog.displayName(of: target)
            throw FerryError(
                .unreachable, "\(route.origin) does not lead from \(from) to \(to).",
                remedy: "List \(to) after \(from), or name another version with \(setting: .target).")
        }
        return versions[place + 1]
    }

    private func candidates(after current: ModelVersion) -> [String] {
        let all =
            edges.filter { $0.source.hashes == current.hashes }.map(\.destination)
            + inferable.filter { $0.source.hashes == current.hashes && $0.span == 1 }.map(\.destination)
        return all.map { catalog.displayName(of: named($0)) }.distinct
    }
}

extension VersionGraph {
    /// The refusal of a path along mapping models that lie beside the models and were not given, or nil.
    static func refusal(
        ofMappingModels beside: [MappingModel], besides given: [MappingModel], catalog: ModelCatalog,
        from source: ModelVersion, to target: ModelVersion, route: ChainRoute
    ) -> FerryError? {
        let leading = beside.filter { model in
            do throws(FerryError) {
                return try !MappingEdge.all(of: [model], in: catalog).isEmpty
            } catch {
                // A mapping model of unknown versions gives no edge.
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
            // The caller's own search throws a clearer error.
            return nil
        }
        let paths = Set(leading.map(\.path))
        let missing = path.flatMap { edge in
            var known = edge.mappingModels.filter { !paths.contains($0.path) }
            return edge.mappingModels.compactMap { model -> (MappingModel, Edge)? in
                // Of two that map the same entities, only one can be given.
                guard paths.contains(model.path), !model.isCovered(by: known) else { return nil }
                known.append(model)
                return (model, edge)
            }
        }
        guard !missing.isEmpty else { return nil }
        // Many files of one folder are given by the folder.
        let folders = Set(missing.map { FileLayer.parent(of: $0.0.path) })
        let folder = missing.count > 3 && folders.count == 1 ? folders.first : nil
        let list = missing.map { model, edge in
            "\(folder == nil ? model.path : FileLayer.name(of: model.path)) "
                + "(\(catalog.displayName(of: edge.source)) → \(catalog.displayName(of: edge.destination)))"
        }
        let isOne = missing.count == 1
        return FerryError(
            .mappingsNotGiven,
            "\(isOne ? "A mapping model is" : "Mapping models are") next to the models, \(isOne ? "applies" : "apply") to "
                + "this migration, but \(isOne ? "was" : "were") not given: \(list.joined(separator: ", ")).",
            remedy: """
                Give \(isOne ? "it" : "them") with \
                \(setting: .mappings, each: (folder.map { [$0] } ?? missing.map(\.0.path)).map { .element($0) }, separator: " "), or say with \
                \(on: .ignoresMappingsBeside) that \(isOne ? "it is" : "they are") not wanted.
                """)
    }
}

/// The choice and the limits of a migration's chain.
package struct ChainRoute: Sendable {
    package var choice: ChainChoice
    /// The words of messages for a list of versions.
    package var origin: String
    /// Whether mappings are inferred between versions without a mapping model.
    package var infers: Bool
    /// Whether the target may be older than the store's version.
    package var allowsDowngrade: Bool

    package init(
        choice: ChainChoice = .automatic, origin: String = "the list of versions", infers: Bool = true,
        allowsDowngrade: Bool = false
    ) {
        self.choice = choice
        self.origin = origin
        self.infers = infers
        self.allowsDowngrade = allowsDowngrade
    }
}
