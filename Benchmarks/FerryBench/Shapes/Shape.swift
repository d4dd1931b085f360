/// A kind of store, and the migration that it is measured by.
struct Shape: Sendable {
    /// What a shape makes in its folder: the store, and the words after `ferry migrate STORE`.
    struct Input: Codable {
        var objects: Int64
        var words: [String]
    }

    let name: String
    let summary: String
    /// Whether the models are fixtures, which not every machine has.
    var needsFixtures = false
    /// Whether a migration policy in Swift takes part: then this program is the tool, which has the policy.
    var hasPolicy = false
    /// Whether the store is to be refused.
    var isRefused = false
    /// The size in the small form as a share of the whole size; nil: not in it.
    var small: Double?
    let make: @Sendable (ShapeFolder) throws -> Input

    /// The design's budget: a policy is code of an app.
    var memoryLimit: Int64 { (hasPolicy ? 48 : 32) << 20 }
}
