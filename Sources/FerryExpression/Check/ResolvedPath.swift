package import FerryModel

/// A key path followed through a model: relationships, then what the path ends at.
package struct ResolvedPath: Sendable, Hashable {
    package enum Start: Sendable, Hashable {
        /// The source object: `$source`, `SELF`.
        case source
        /// The element of the iteration that is bound to its variable.
        case element
        /// A member of a collection, by how many collections stand around it.
        case member(Int)
    }

    /// A collection operator that makes one value of the objects, or values, that the path leads to.
    package struct Aggregate: Sendable, Hashable {
        package var name: String
        /// The relationships followed before the operator.
        package var hopCount: Int
        /// Whether an attribute stands before the operator, not behind it.
        package var isOfValues: Bool
    }

    /// One relationship followed.
    package struct Hop: Sendable, Hashable {
        /// The entity from which the relationship leads away.
        package var entity: String
        package var relationship: Relationship

        package init(entity: String, relationship: Relationship) {
            self.entity = entity
            self.relationship = relationship
        }
    }

    package enum End: Sendable, Hashable {
        /// An object of this entity or one below it, or a collection of them.
        case object(entity: String)
        /// An attribute; `path` has its name, after those of the composites that hold it.
        case attribute(Attribute, path: [String])
        /// A value in a JSON element, under these keys; without keys the element itself.
        case json(keys: [String])
    }

    package var start: Start
    package var hops: [Hop]
    package var end: End
    /// Keys of the attribute's value, such as `length`, in order.
    package var valueKeys: [String]
    /// Whether a collection operator made the objects distinct (`@distinctUnionOfSets`).
    package var isDistinct: Bool
    package var aggregate: Aggregate?

    package init(
        start: Start, hops: [Hop] = [], end: End, valueKeys: [String] = [], isDistinct: Bool = false
    ) {
        self.start = start
        self.hops = hops
        self.end = end
        self.valueKeys = valueKeys
        self.isDistinct = isDistinct
    }

    /// Whether the path yields a collection.
    package var isToMany: Bool { hops.contains { $0.relationship.isToMany } }
}
