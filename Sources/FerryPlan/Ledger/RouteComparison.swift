package import FerryBase
internal import FerryMapping
internal import FerryModel

/// A comparison of one inferred mapping with the steps over the versions between.
package struct RouteComparison: Sendable {
    enum Verdict: Equatable {
        /// One inferred mapping, as Core Data infers it: the steps keep nothing more.
        case straight
        /// The steps over the versions between, which keep these properties.
        case stepwise([StoredProperty])
        /// Each path loses properties that the other keeps, and rows have values of them.
        case open
    }

    /// Names of the versions of the stepwise path.
    let names: [String]
    /// Properties that only one of the two paths loses and that rows may have values of.
    var lostStraight: [StoredProperty] = []
    var lostStepwise: [StoredProperty] = []
    /// The stepwise edges; nil if they cannot be resolved or need no comparison.
    var steps: [VersionGraph.Edge]?
    /// Properties that only one of the two paths loses, with or without values.
    var onlyStraight: Set<StoredProperty> = []
    var onlyStepwise: Set<StoredProperty> = []
    /// Names of the versions that ``steps`` pass: of versions with equal hashes the one that keeps most.
    var passed: [String]?

    var straight: String { "\(names[0]) → \(names[names.count - 1])" }
    /// The stepwise path in words; of many versions the first two and the last two.
    var stepwise: String {
        let names = passed ?? names
        guard names.count > 8 else { return names.joined(separator: " → ") }
        return "\(names[0]) → \(names[1]) → … (\(names.count - 4) more) → \(names[names.count - 2]) → "
            + names[names.count - 1]
    }

    var verdict: Verdict {
        if lostStraight.isEmpty { return .straight }
        return lostStepwise.isEmpty ? .stepwise(lostStraight) : .open
    }
}

/// Comparisons by the names and files of the versions of the stepwise path, and the file of the target.
///
/// A comparison costs more than the rest of a small store's plan, and is equal for every store of a version.
package typealias RouteComparisons = Locked<[[String]: RouteComparison]>

extension VersionGraph {
    /// Returns the inferred edge, or the stepwise edges if they keep properties that it loses.
    ///
    /// - Throws: ``FerryError`` `.ambiguousChain` if each path loses properties that the other keeps.
    mutating func keepingMost(_ edge: Edge) throws(FerryError) -> [Edge] {
        guard edge.isInferred, node(edge.source) >= 0 else { return [edge] }
        let nodes = nodes(from: edge.source, to: edge.destination)
        guard nodes.count > 2 else { return [edge] }
        let names = self.names(of: nodes)
        let key = names + (nodes + [target]).map(\.path)
        guard var comparison = compared.withLock({ $0[key] }) ?? compare(edge, nodes, names) else { return [edge] }
        compared.withLock { $0[key] = comparison }
        let isOfStore = edge.source.hashes == source.hashes
        // A direct path that loses nothing more is as good, whatever the rows hold.
        if isOfStore, !comparison.onlyStraight.isEmpty {
            values.merge(presence(comparison.onlyStraight.union(comparison.onlyStepwise).inNameOrder)) { $1 }
        }
        comparison.lostStraight = isOfStore ? held(comparison.onlyStraight) : comparison.onlyStraight.inNameOrder
        comparison.lostStepwise = isOfStore ? held(comparison.onlyStepwise) : comparison.onlyStepwise.inNameOrder
        comparisons.append(comparison)
        guard let steps = comparison.steps else { return [edge] }
        switch comparison.verdict {
        case .straight: return [edge]
        case .stepwise: return steps
        case .open: throw open(comparison)
        }
    }

    /// Returns nil if the inferred edge cannot be resolved.
    private func compare(_ edge: Edge, _ nodes: [ModelVersion], _ names: [String]) -> RouteComparison? {
        guard let straight = losses(of: [edge]) else { return nil }
        var comparison = RouteComparison(names: names)
        guard !straight.isEmpty, let steps = steps(over: nodes), let stepwise = losses(of: steps) else {
            return comparison
        }
        comparison.steps = steps
        comparison.passed = self.names(of: [nodes[0]] + steps.map(\.destination))
        comparison.onlyStraight = straight.subtracting(stepwise)
        comparison.onlyStepwise = stepwise.subtracting(straight)
        return comparison
    }

    /// The properties that rows may have values of, in name order.
    func held(_ properties: Set<StoredProperty>) -> [StoredProperty] {
        properties.filter { values[$0] != 0 }.inNameOrder
    }

    /// Returns the edge from each version to the next, or nil if a mapping cannot be inferred.
    private func steps(over nodes: [ModelVersion]) -> [Edge]? {
        var steps: [Edge] = []
        for (version, next) in zip(nodes, nodes.dropFirst()) {
            guard var edge = explicitEdge(from: version, to: next) ?? infer(version, next).0 else { return nil }
            if edge.isInferred {
                var resolution = edge.resolved()
                if let last = steps.last?.resolution { resolution.step = resolution.step.sharing(with: last.step) }
                edge.resolution = resolution
            }
            steps.append(edge)
        }
        return steps
    }

    /// Returns the losses of a path, with all properties of a lost entity; nil if an edge cannot be resolved.
    func losses(of edges: [Edge]) -> Set<StoredProperty>? {
        var steps: [ResolvedStep] = []
        for edge in edges {
            let resolution = edge.resolved(policies)
            guard resolution.problems.isEmpty else { return nil }
            steps.append(resolution.step)
        }
        guard let model = edges.first?.source.model else { return nil }
        var all: Set<StoredProperty> = []
        for loss in Ledger(steps, versions: []).whole(trustsPolicies: true).keys {
            all.insert(loss)
            guard loss.property == nil else { continue }
            for name in model.storedProperties(of: loss.entity) {
                all.insert(StoredProperty(entity: loss.entity, property: name))
            }
        }
        return all
    }

    private func open(_ comparison: RouteComparison) -> FerryError {
        let (straight, stepwise) = (comparison.straight, comparison.stepwise)
        return FerryError(
            .ambiguousChain,
            "\(straight) in one inferred mapping and \(stepwise) each lose data that the other route keeps. "
                + "\(straight) loses \(comparison.lostStraight.words); "
                + "\(stepwise) loses \(comparison.lostStepwise.words).",
            remedy: "Choose a route with \(setting: .chain, .some("the versions of one of them")).")
    }
}

extension Collection<StoredProperty> {
    var inNameOrder: [StoredProperty] { inOrder { codeUnitOrder($0.name, $1.name) } }
    var words: String { map(\.name).joined(separator: ", ") }
}
