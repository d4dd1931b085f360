/// What the members of a collection come to: how many they are, whether there is one, or a value of theirs.
///
/// In SQL it is a subquery, which both executors read as they read a column.
package struct CollectionComputation: Sendable, Hashable {
    package enum Start: Sendable, Hashable {
        /// From the object at the end of a path of to-one relationships.
        case object(ResolvedPath)
        /// All objects of exactly one entity.
        case entity(String)
    }

    package enum Aggregate: Sendable, Hashable {
        case exists
        case count
        /// An aggregate function of ours (``AggregateFunction``).
        case function(String)
    }

    package var start: Start
    /// The relationships to the members; none from an entity.
    package var hops: [ResolvedPath.Hop]
    /// What ``ResolvedPath/Start/member(_:)`` in its parts is called.
    package var level: Int
    /// What all members that count must fulfil.
    package var filters: [Computation]
    /// The value of a member.
    package var value: Computation?
    package var aggregate: Aggregate

    package var parts: [Computation] { filters + (value.map { [$0] } ?? []) }
}
