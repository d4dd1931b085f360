/// A pair of successive versions in the chain.
public struct ChainLink: Sendable, Hashable, Codable {
    public var from: String
    public var to: String
    public var isInferred: Bool
    public var reason: String

    package init(from: String, to: String, isInferred: Bool, reason: String) {
        (self.from, self.to, self.isInferred, self.reason) = (from, to, isInferred, reason)
    }
}
