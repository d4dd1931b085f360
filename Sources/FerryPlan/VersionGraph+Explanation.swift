internal import FerryMapping
internal import FerryModel

extension VersionGraph {
    /// Why a path is the way: each edge, the order that it follows, and what it was preferred over.
    func explanation(of path: [Edge]) -> ChainExplanation {
        var explanation = ChainExplanation()
        let names = names(of: path)
        for (index, edge) in path.enumerated() {
            explanation.links.append(
                ChainExplanation.Link(
                    from: names[index], to: names[index + 1], isInferred: edge.isInferred, reason: reason(for: edge)))
        }
        explanation.notes = [order] + obstacleNotes() + comparison(names, path) + unused(path)
        return explanation
    }

    private func reason(for edge: Edge) -> String {
        let isChosen = if case .search = route.choice { false } else { true }
        let chosen = isChosen ? "chosen; " : ""
        guard edge.isInferred else {
            let models = edge.mappingModels.map(\.name).joined(separator: ", ")
            let isNext = neighbourPairs.contains { $0 == (node(edge.source), node(edge.destination)) }
            let rest = isNext && route.infers ? ", which goes before an inferred mapping" : ""
            return "\(chosen)by mapping model\(edge.mappingModels.count == 1 ? "" : "s") \(models)\(rest)"
        }
        let isOwn = node(edge.source) < 0
        let isBack = catalog.isBefore(edge.destination, edge.source)
        let what = isOwn ? "from the model cached in the store, which is in no file" : "no mapping model leads there"
        return "\(chosen)inferred\(isBack ? " backwards" : ""): \(what)"
    }

    /// Versions that follow each other, as nodes.
    private var neighbourPairs: [(Int, Int)] {
        zip(catalog.versions, catalog.versions.dropFirst()).map { (node($0), node($1)) }
    }

    private var order: String {
        switch catalog.order {
        case .identifiers: "Versions follow each other by their model version identifiers."
        case .names: "Versions follow each other by their names, bundles by their paths."
        case .bundlesAsMapped: "Versions follow each other by their names, bundles as mapping models lead."
        }
    }

    /// What could not be inferred, where the way goes around it.
    private func obstacleNotes() -> [String] {
        neighbours.filter { $0.obstacles != nil }.map { neighbours in
            let (from, to) = (
                catalog.displayName(of: neighbours.source), catalog.displayName(of: neighbours.destination)
            )
            let reason = neighbours.obstacles?.first?.sentence ?? "They have no entity in common."
            return "\(from) → \(to) cannot be inferred: \(reason)"
        }
    }

    /// The way from version to version in their order, where another one was taken.
    private func comparison(_ names: [String], _ path: [Edge]) -> [String] {
        guard case .search = route.choice, node(source) >= 0 else { return [] }
        var nodes = catalog.versions.indices.filter { node(catalog.versions[$0]) == $0 }
        let (first, last) = (node(source), node(target))
        nodes = nodes.filter { min(first, last) <= $0 && $0 <= max(first, last) }
        if first > last { nodes.reverse() }
        let inOrder = nodes.map { catalog.displayName(of: named(catalog.versions[$0])) }
        guard inOrder != names, inOrder.count > 1 else { return [] }
        let inferred = path.count(where: \.isInferred)
        return [
            "\(names.joined(separator: " → ")) was preferred to \(inOrder.joined(separator: " → ")): fewest inferred "
                + "steps (\(inferred)) go first, then fewest steps (\(path.count))."
        ]
    }

    private func unused(_ path: [Edge]) -> [String] {
        let used = Set(path.flatMap { $0.mappingModels.map(\.path) })
        return edges.compactMap { edge in
            let left = edge.mappingModels.filter { !used.contains($0.path) }.map(\.name)
            guard !left.isEmpty else { return nil }
            let (from, to) = (catalog.displayName(of: edge.source), catalog.displayName(of: edge.destination))
            return "Not on the way: \(left.joined(separator: ", ")) (\(from) → \(to))."
        }
    }

    // MARK: Losses

    /// What a way back takes away, in its order.
    ///
    /// - Parameters:
    ///   - path: The way.
    ///   - rows: Rows of exactly each entity of the source.
    ///   - areEstimated: Whether they are estimates.
    func losses(on path: [Edge], rows: [String: Int64], areEstimated: Bool) -> [ChainLoss] {
        guard catalog.isBefore(target, source) else { return [] }
        var losses: [ChainLoss] = []
        // Rows of each entity of the version that the way has come to; nil once only the run can know.
        var known: [String: Int64]? = rows
        for edge in path {
            let difference = ModelDifference(from: edge.source.model, to: edge.destination.model)
            let version = catalog.displayName(of: edge.destination)
            for change in difference.changes {
                guard [.entityRemoved, .attributeRemoved, .relationshipRemoved].contains(change.kind) else { continue }
                let isWhole = change.kind == .entityRemoved
                let entity =
                    isWhole ? change.entity : difference.matching.sourceEntities[change.entity] ?? change.entity
                guard isStored(change.property, of: entity, in: edge.source.model) else { continue }
                let counted = isWhole ? [entity] : edge.source.model.family(of: entity)
                losses.append(
                    ChainLoss(
                        entity: entity, property: change.property, version: version,
                        rows: known.map { rows in counted.reduce(0) { $0 + (rows[$1] ?? 0) } },
                        isEstimated: areEstimated))
            }
            // What a mapping model makes of the objects is not followed.
            known =
                edge.isInferred
                ? known.map { rows in
                    difference.matching.sourceEntities.mapValues { rows[$0] ?? 0 }
                } : nil
        }
        return losses
    }

    private func isStored(_ property: String?, of entity: String, in model: ManagedObjectModel) -> Bool {
        guard let property else { return model.entities[entity]?.isAbstract == false }
        if let attribute = model.attribute(property, of: entity) { return !attribute.isTransient }
        return model.relationship(property, of: entity)?.isTransient == false
    }
}
