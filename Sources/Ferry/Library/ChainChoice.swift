internal import FerryPlan

/// Which versions a migration passes through.
public enum ChainChoice: Sendable {
    /// Along mapping models; where none leads on, from each version to the next one in version order by inference.
    case automatic
    /// Through these versions, by name and in this order, from the store's own on.
    ///
    /// Without a target of its own the migration leads to the last of them.
    case versions([String])
    /// Through those that the closure names, which is called for each version of the chain; nil leaves the rest of the
    /// way to Ferry.
    ///
    /// It is asked when a plan is made, so once by a call that plans and again by each call that runs or goes on, and
    /// must answer the same each time.
    case next(@Sendable (VersionQuestion) throws -> String?)
}

/// What is asked for each version of a chain.
public struct VersionQuestion: Sendable, Hashable {
    /// The version that the chain has come to.
    public var version: String
    /// The version that the migration leads to.
    public var target: String
    /// Versions to which a mapping model leads from here, and the next one in version order; others may be named too.
    public var candidates: [String]
}

extension Configuration {
    /// The same for the planner.
    var route: ChainRoute {
        let choice: ChainRoute.Choice =
            switch chain {
            case .automatic: .search
            case .versions(let names): .list(names, origin: "the list of versions")
            case .next(let next):
                .ask { question in
                    try next(
                        VersionQuestion(
                            version: question.version, target: question.target, candidates: question.candidates))
                }
            }
        return ChainRoute(choice: choice, infers: infersMappings, allowsDowngrade: allowsDowngrade)
    }
}
