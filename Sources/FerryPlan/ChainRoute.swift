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
