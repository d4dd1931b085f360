/// What the members of a collection come to: how many they are, whether there is one, or a value of theirs.
///
/// In SQL it is a subquery, which both executors read as they read a column.
package struct CollectionComputation: Sendable, Hashable {
    package indirect enum Start: Sendable, Hashable {
        /// From the object at the end of a path of to-one relationships.
        case object(ResolvedPath)
        /// All objects of exactly one entity.
        case entity(String)
        /// The objects of several collections, each once; their ``CollectionComputation/value`` is the object's key.
        case objects(of: String, [CollectionComputation])
        /// The values of several collections, each once; nil is none.
        case values([CollectionComputation])
    }

    package enum Aggregate: Sendable, Hashable {
        case exists
        case count
        /// An aggregate function of ours (``AggregateFunction``).
        case function(String)
        /// The same, given the values in their own order, each with how many there are.
        case sorted(String)
        /// The value of the member at a place, counted from the end where negative.
        case element(Int64)
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
    /// Whether equal values count once, and nil not at all.
    package var isDistinct = false

    package var parts: [Computation] {
        filters + (value.map { [$0] } ?? []) + united.flatMap(\.parts)
    }

    /// The collections that it unites.
    package var united: [CollectionComputation] {
        switch start {
        case .object, .entity: []
        case .objects(_, let collections), .values(let collections): collections
        }
    }

    /// How many unions stand within each other; each is a subquery of its own.
    var unionDepth: Int { united.isEmpty ? 0 : 1 + (united.map(\.unionDepth).max() ?? 0) }
}
