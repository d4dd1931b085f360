/// What a run tells of its migration policies, so that verification knows what it cannot compute again.
///
/// It names properties and mappings, never values.
package struct PolicyEvidence: Sendable, Hashable {
    /// Properties whose values a policy set, as `Entity.property`; `Entity.*` where it made whole objects itself.
    package var touched: Set<String> = []
    /// New keys that the policy of a mapping (by position) gave in the first pass, by root entity.
    package var newKeys: [Int: [String: Int64]] = [:]
    /// Positions of mappings whose policies associated each object with at most the one that has its key, and left the
    /// relationships to the default policy.
    package var implied: Set<Int> = []

    package init() {}

    package func isTouched(_ property: String, of entity: String) -> Bool {
        touched.contains("\(entity).\(property)") || touched.contains("\(entity).*")
    }
}
