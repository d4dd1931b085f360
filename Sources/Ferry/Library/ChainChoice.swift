public import FerryBase
internal import FerryPlan

/// The versions that a migration passes through.
public enum ChainChoice: Sendable {
    /// Along mapping models; by inference to the next version in version order if no mapping model leads on.
    case automatic
    /// Through these versions, by name and in this order, beginning with the store's version.
    ///
    /// Without a target of its own the migration leads to the last of these versions.
    case versions([String])
    /// Through the versions that the closure returns for each version of the chain; nil leaves the rest to Ferry.
    ///
    /// Ferry calls the closure when it makes a plan: in a call that plans, and again in each call that runs or resumes.
    /// The closure must return the same names each time.
    case next(@Sendable (VersionQuestion) throws -> String?)
}

extension Configuration {
    /// The choice of the chain for the planner.
    var route: ChainRoute {
        let choice: ChainRoute.Choice =
            switch chain {
            case .automatic: .search
            case .versions(let names): .list(names, origin: "the list of versions")
            case .next(let next): .ask(next)
            }
        return ChainRoute(choice: choice, infers: infersMappings, allowsDowngrade: allowsDowngrade)
    }
}
