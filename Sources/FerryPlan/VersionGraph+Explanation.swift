internal import FerryBase
internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// The links of a path, each with its reason.
    func links(of path: [Edge]) -> [ChainLink] {
        let names = names(of: path)
        return path.enumerated().map { index, edge in
            ChainLink(from: names[index], to: names[index + 1], isInferred: edge.isInferred, reason: reason(for: edge))
        }
    }

    /// Notes on the order of the versions and on rejected paths.
    func notes(on path: [Edge]) -> [String] {
        [order] + obstacleNotes() + comparison(names(of: path), path) + straightNotes() + routeNotes
            + equalTarget(path) + unused(path)
    }

    private func reason(for edge: Edge) -> String {
        let isChosen = if case .automatic = route.choice { false } else { true }
        let chosen = isChosen ? "chosen; " : ""
        guard edge.isInferred else {
            let models = edge.mappingModels.map(\.name).joined(separator: ", ")
            let isNext = neighbourPairs.contains { $0 == (node(edge.source), node(edge.destination)) }
            let rest = isNext && route.infers ? ", preferred to an inferred mapping" : ""
            return "\(chosen)by mapping model\(edge.mappingModels.count == 1 ? "" : "s") \(models)\(rest)"
        }
        let isOwn = node(edge.source) < 0
        let isBack = catalog.isDowngrade(from: edge.source, to: edge.destination)
        let what = isOwn ? "from the model cached in the store, which is in no model file" : "there is no mapping model"
        return "\(chosen)inferred\(isBack ? " backwards" : ""): \(what)"
    }

    private var neighbourPairs: [(Int, Int)] {
        zip(catalog.versions, catalog.versions.dropFirst()).map { (node($0), node($1)) }
    }

    private var order: String {
        switch catalog.order {
        case .identifiers: "Versions are ordered by their model version identifiers."
        case .names: "Versions are ordered by name, bundles by path."
        case .bundlesAsMapped: "Versions are ordered by name, bundles by the mapping models between them."
        }
    }

    /// Notes mappings on rejected paths that could not be inferred.
    private func obstacleNotes() -> [String] {
        inferable.filter { $0.obstacles != nil }.map { inferable in
            let reason = inferable.obstacles?.first?.sentence ?? "They have no entity in common."
            return "\(title(of: inferable)) cannot be inferred: \(reason)"
        }
    }

    /// Notes the path in version order, if another one was taken.
    private func comparison(_ names: [String], _ path: [Edge]) -> [String] {
        guard case .automatic = route.choice, node(source) >= 0, path.contains(where: { !$0.isInferred }) else {
            return []
        }
        let inOrder = nodes(from: source, to: target).map { catalog.displayName(of: $0) }
        guard inOrder != names, inOrder.count > 1 else { return [] }
        let inferred = path.count(where: \.isInferred)
        return [
            "\(names.joined(separator: " → ")) was preferred to \(inOrder.joined(separator: " → ")): mapping models "
                + "are used where possible (\(inferred) inferred), then the fewest steps (\(path.count))."
        ]
    }

    private func straightNotes() -> [String] {
        comparisons.map { comparison in
            guard case .stepwise(let kept) = comparison.verdict else {
                return "\(comparison.straight) is one inferred mapping, as Core Data infers it; "
                    + "\(comparison.stepwise) would keep nothing more."
            }
            return
                "\(comparison.stepwise) was preferred to \(comparison.straight) in one inferred mapping, which would "
                + "lose \(kept.words)."
        }
    }

    /// Notes another version with the target's hashes whose renaming identifiers lose less.
    private func equalTarget(_ path: [Edge]) -> [String] {
        guard let last = path.last, last.isInferred, let better = keepingMore(than: last) else { return [] }
        let (target, other) = (
            catalog.displayName(of: last.destination), catalog.displayName(of: better.edge.destination)
        )
        return [
            "\(other) has the version hashes of \(target) and different renaming identifiers, which keep "
                + "\(better.kept.inNameOrder.words): as the target it leads to the same store without that loss."
        ]
    }

    private func unused(_ path: [Edge]) -> [String] {
        let used = Set(path.flatMap { $0.mappingModels.map(\.path) })
        return edges.compactMap { edge in
            let left = edge.mappingModels.filter { !used.contains($0.path) }.map(\.name)
            guard !left.isEmpty else { return nil }
            return "Not used: \(left.joined(separator: ", ")) (\(title(of: edge)))."
        }
    }
}

extension VersionGraph {
    /// Whether source and target are in one bundle, or connected by a path.
    var isRelated: Bool {
        (source.bundle == target.bundle && source.bundle != nil) || search(from: target, to: source) != nil
            || search(from: source, to: target) != nil
    }

    var backward: FerryError {
        let (from, to) = (catalog.displayName(of: source), catalog.displayName(of: target))
        return FerryError(
            .backward, "The store has version \(from), which is newer than \(to).",
            remedy: """
                Name a later version with \(setting: .target), restore a snapshot of the older one with \
                \(action: .rollBack), or give \(on: .allowsDowngrade): what \(to) cannot hold is \
                lost then.
                """)
    }

    func unreachable(from start: ModelVersion) -> FerryError {
        let (last, next) = gap(from: start)
        return missing(last, next, inferable.first { $0.leads(from: last, to: next) }?.obstacles)
    }

    func missing(
        _ start: ModelVersion, _ end: ModelVersion, _ obstacles: [InferredMapping.Change]?, saidBy origin: String? = nil
    ) -> FerryError {
        let (from, to) = (catalog.displayName(of: start), catalog.displayName(of: end))
        var message =
            origin.map { "\(to) cannot follow \(from), as \($0) says: no " }
            ?? "There is no way from version \(catalog.displayName(of: source)) to \(catalog.displayName(of: target)): no "
        message += "mapping model leads from \(from) to \(to)"
        var remedy: Remedy = "Add a mapping model from \(from) to \(to) with \(setting: .mappings)."
        var place = FerryError.Place()
        if !route.infers {
            message += ", and none may be inferred."
            remedy = """
                Add a mapping model from \(from) to \(to) with \(setting: .mappings), or leave \
                \(setting: .infersMappings, .flag(false)) out.
                """
        } else if let obstacles {
            let most = 8
            let sentences = obstacles.prefix(most).map(\.sentence)
            let more = obstacles.count > most ? [" And \(obstacles.count - most) more."] : []
            message += ", and none can be inferred. "
            message += (sentences + more).joined(separator: " ")
            if obstacles.isEmpty { message += "They have no entity in common." }
            place = .init(entity: obstacles.first?.entity, property: obstacles.first?.property)
        } else {
            message += "."
        }
        return FerryError(.unreachable, message, remedy: remedy, place: place)
    }

    /// The gap in the path: the last version that the start reaches, and the next version that reaches the target.
    private func gap(from start: ModelVersion) -> (ModelVersion, ModelVersion) {
        let isBack = catalog.isBefore(target, start)
        let order = isBack ? catalog.versions.reversed() : catalog.versions
        func place(_ version: ModelVersion) -> Int { isBack ? -node(version) : node(version) }
        let targetPlace = place(target)
        let reachable = order.filter { search(from: start, to: $0) != nil && place($0) < targetPlace }
        let leading = order.filter { search(from: $0, to: target) != nil && place($0) > place(start) }
        let last = reachable.last ?? start
        // Without inference, neighbours lack a mapping model.
        let next = (route.infers ? leading : Array(order)).first { place($0) > place(last) }
        return (named(last), named(next ?? target))
    }
}
