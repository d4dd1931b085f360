internal import FerryBase
internal import FerryMapping
internal import FerryModel

/// Two ways between the same versions: one inferred mapping, or one from each version to the next.
package struct RouteComparison: Sendable {
    enum Verdict: Equatable {
        /// Straight, as Core Data infers it: the other way keeps nothing more.
        case straight
        /// Over the versions between, which keep what is named.
        case stepwise([StoredProperty])
        /// Each loses what the other keeps, and rows have it.
        case open
    }

    /// Names of the versions of the way over those between.
    let names: [String]
    /// What only the straight way loses, and what only the other one loses, as far as rows may have it.
    var lostStraight: [StoredProperty]
    var lostStepwise: [StoredProperty]
    /// The way over the versions between; nil where it cannot be taken or need not be looked at.
    var steps: [VersionGraph.Edge]?
    /// What only one of the two loses, whatever the rows have.
    var onlyStraight: Set<StoredProperty> = []
    var onlyStepwise: Set<StoredProperty> = []
    /// What the store's rows must tell for the verdict; empty where they cannot, or need not.
    var questions: [StoredProperty]

    /// Names of the versions that the steps pass, where another one of equal hashes keeps more than the one of ``names``.
    var passed: [String]?

    /// The one way in words.
    var straight: String { "\(names[0]) → \(names[names.count - 1])" }
    /// The other one; of many versions the first and the last.
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

extension VersionGraph {
    /// An inferred edge, or the edges over the versions between where these keep what it loses.
    ///
    /// - Throws: ``FerryError`` `.ambiguousChain` when each way loses what the other keeps.
    mutating func keepingMost(_ edge: Edge) throws(FerryError) -> [Edge] {
        guard edge.isInferred, node(edge.source) >= 0 else { return [edge] }
        let nodes = nodes(from: edge.source, to: edge.destination)
        guard nodes.count > 2 else { return [edge] }
        let names = nodes.map { catalog.displayName(of: $0) }
        guard var comparison = compared[names] ?? compare(edge, nodes, names) else { return [edge] }
        if edge.source.hashes == source.hashes {
            comparison.lostStraight = held(comparison.onlyStraight)
            comparison.lostStepwise = held(comparison.onlyStepwise)
        }
        comparisons.append(comparison)
        guard let steps = comparison.steps else { return [edge] }
        switch comparison.verdict {
        case .straight: return [edge]
        case .stepwise: return steps
        case .open: throw open(comparison)
        }
    }

    /// - Returns: Nil when the straight way cannot be taken.
    private func compare(_ edge: Edge, _ nodes: [ModelVersion], _ names: [String]) -> RouteComparison? {
        guard let straight = losses(of: [edge]) else { return nil }
        var comparison = RouteComparison(names: names, lostStraight: [], lostStepwise: [], questions: [])
        guard !straight.isEmpty, let steps = steps(over: nodes), let stepwise = losses(of: steps) else {
            return comparison
        }
        comparison.steps = steps
        comparison.passed = [names[0]] + steps.map { catalog.displayName(of: $0.destination) }
        comparison.onlyStraight = straight.subtracting(stepwise)
        comparison.onlyStepwise = stepwise.subtracting(straight)
        comparison.lostStraight = Self.sorted(comparison.onlyStraight)
        comparison.lostStepwise = Self.sorted(comparison.onlyStepwise)
        if edge.source.hashes == source.hashes, !comparison.onlyStraight.isEmpty {
            // Where the straight way loses nothing more than the other, it is as good whatever the rows hold.
            comparison.questions = Self.sorted(comparison.onlyStraight.union(comparison.onlyStepwise))
        }
        return comparison
    }

    /// What rows may have, in the order of names.
    private func held(_ properties: Set<StoredProperty>) -> [StoredProperty] {
        Self.sorted(properties.filter { values[$0] != 0 })
    }

    private static func sorted(_ properties: Set<StoredProperty>) -> [StoredProperty] {
        properties.sorted { codeUnitOrder($0.name, $1.name) }
    }

    /// The edges from each version to the next; nil when a mapping between two of them cannot be inferred.
    private func steps(over nodes: [ModelVersion]) -> [Edge]? {
        var steps: [Edge] = []
        for (version, next) in zip(nodes, nodes.dropFirst()) {
            guard var edge = explicitEdge(from: version, to: next) ?? infer(version, next).0 else { return nil }
            if edge.isInferred { edge.resolution = edge.resolved() }
            steps.append(edge)
        }
        return steps
    }

    /// What a way loses, an entity with all of its properties; nil for a way that cannot be taken.
    func losses(of edges: [Edge]) -> Set<StoredProperty>? {
        var steps: [ResolvedStep] = []
        for edge in edges {
            let resolution = edge.resolved()
            guard resolution.problems.isEmpty else { return nil }
            steps.append(resolution.step)
        }
        guard let model = edges.first?.source.model else { return nil }
        var all: Set<StoredProperty> = []
        for loss in LossTrace(steps).losses().keys {
            all.insert(loss)
            guard loss.property == nil else { continue }
            for name in LossTrace.stored(of: loss.entity, in: model) {
                all.insert(StoredProperty(entity: loss.entity, property: name))
            }
        }
        return all
    }

    private func open(_ comparison: RouteComparison) -> FerryError {
        let (straight, stepwise) = (comparison.straight, comparison.stepwise)
        return FerryError(
            .ambiguousChain,
            "\(straight) in one inferred mapping and \(stepwise) each lose what the other way keeps, and rows have it. "
                + "\(straight) loses \(Self.words(comparison.lostStraight)); "
                + "\(stepwise) loses \(Self.words(comparison.lostStepwise)).",
            remedy: "Say which way to take with \(setting: .chain, .some("the versions of one of them")).")
    }

    private static func words(_ properties: [StoredProperty]) -> String {
        properties.map(\.name).joined(separator: ", ")
    }
}
