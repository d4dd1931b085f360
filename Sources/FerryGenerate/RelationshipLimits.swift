internal import FerryModel

/// How many objects a relationship is given.
struct RelationshipLimits {
    /// 0 where the relationship may be empty; one that may be empty but not hold a single object is never left empty.
    let least: Int64
    let most: Int64

    static let none = RelationshipLimits(least: 0, most: .max)

    init(_ relationship: Relationship) {
        let fewest = Int64(max(relationship.minCount, relationship.isOptional ? 0 : 1))
        least = relationship.isOptional && fewest <= 1 ? 0 : fewest
        guard relationship.isToMany else {
            most = 1
            return
        }
        let isBounded = relationship.maxCount > 1 && relationship.maxCount < Int(Int32.max)
        most = isBounded ? Int64(relationship.maxCount) : .max
    }

    private init(least: Int64, most: Int64) {
        self.least = least
        self.most = most
    }

    var isFree: Bool { least == 0 && most == .max }
}

/// Objects dealt out to owners as evenly as can be, each owner's one after another.
struct Shares {
    private let fewer: Int64
    /// How many owners, the first ones, have one more.
    private let larger: Int64

    init(of objects: Int64, among owners: Int64) {
        fewer = owners > 0 ? objects / owners : 0
        larger = owners > 0 ? objects % owners : 0
    }

    /// Which owner an object goes to, and its place among the owner's objects.
    func place(of index: Int64) -> (owner: Int64, position: Int64) {
        let first = larger * (fewer + 1)
        guard index >= first, fewer > 0 else { return (index / (fewer + 1), index % (fewer + 1)) }
        return (larger + (index - first) / fewer, (index - first) % fewer)
    }

    /// The first object of an owner, and how many the owner has.
    func objects(of owner: Int64) -> (first: Int64, count: Int64) {
        (owner * fewer + min(owner, larger), fewer + (owner < larger ? 1 : 0))
    }
}
