internal import FerryModel

/// How many objects a relationship may lead to on either side, and whether they have an order.
struct LinkShape: Equatable {
    struct Side: Equatable {
        var isToMany: Bool
        var isOrdered: Bool
    }

    /// The related objects of one object of the side that the shape is seen from.
    var own: Side
    /// The objects of that side that one related object has.
    var other: Side
    /// Whether both sides hold a key.
    var isOneToOne: Bool

    /// A relationship as its own entity sees it.
    init(_ relationship: Relationship, in model: ManagedObjectModel) {
        own = Side(isToMany: relationship.isToMany, isOrdered: relationship.isOrdered)
        let inverse = model.inverse(of: relationship)
        // Without an inverse the key of a to-one stands with its owner, that of a to-many with the related object.
        other =
            inverse.map { Side(isToMany: $0.isToMany, isOrdered: $0.isOrdered) }
            ?? Side(isToMany: !relationship.isToMany, isOrdered: false)
        isOneToOne = inverse.map { !$0.isToMany && !relationship.isToMany } ?? false
    }

    /// The same from the other side.
    var mirrored: LinkShape {
        var shape = self
        swap(&shape.own, &shape.other)
        return shape
    }

    var isOrdered: Bool { own.isOrdered || other.isOrdered }
    /// Whether the links stand in a table of their own.
    var isJoined: Bool { own.isToMany && other.isToMany }

    func isStored(like shape: LinkShape) -> Bool {
        own.isToMany == shape.own.isToMany && other.isToMany == shape.other.isToMany
    }

    func hasOrders(of shape: LinkShape) -> Bool {
        own.isOrdered == shape.own.isOrdered && other.isOrdered == shape.other.isOrdered
    }

    /// Whether a side that could hold several objects holds one only.
    func isNarrowed(to shape: LinkShape) -> Bool {
        own.isToMany && !shape.own.isToMany || other.isToMany && !shape.other.isToMany
    }
}
