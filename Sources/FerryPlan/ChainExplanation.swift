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

/// What a migration to an older version takes away.
package struct ChainLoss: Sendable {
    package var entity: String
    /// Nil when the whole entity goes.
    package var property: String?
    package var version: String
    /// Objects that lose it; nil where only the run can know.
    package var rows: Int64?
    package var isEstimated: Bool

    /// The loss as a sentence.
    package var sentence: String {
        let what = property.map { "\(entity).\($0)" } ?? "\(entity)"
        guard let rows else { return "Going back to \(version) loses \(what)." }
        let number = (isEstimated ? "about " : "") + "\(rows) \(rows == 1 ? "object" : "objects")"
        return "Going back to \(version) loses \(what)\(property == nil ? " with" : " of") \(number)."
    }
}
