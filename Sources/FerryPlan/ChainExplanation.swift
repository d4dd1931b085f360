/// Why a chain is the one that it is.
package struct ChainExplanation: Sendable {
    /// One version to the next.
    package struct Link: Sendable {
        package var from: String
        package var to: String
        package var isInferred: Bool
        package var reason: String
    }

    package var links: [Link] = []
    /// What was preferred over what, and what the order of versions is.
    package var notes: [String] = []

    package init() {}
}
