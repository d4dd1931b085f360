internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Fills the join table of one many-to-many relationship, in the order of its primary key.
struct JoinRowMaker {
    private enum Shape {
        /// Each object is related to a seeded number of objects, spread over all of them.
        case spread(ClosedRange<Int64>)
        /// All pairs are distributed evenly over both sides.
        case even(Shares)
        /// The relationship is its own inverse: neighbours up to this distance, modulo the count; 0 for pairs.
        case ring(reach: Int64)
    }

    private let table: JoinTable
    private let source: KeyRanges.Family
    private let destination: KeyRanges.Family
    private let shape: Shape
    private let isMandatory: Bool
    private let seed: UInt64

    init(_ table: JoinTable, in layout: StoreLayout, ranges: KeyRanges, options: GenerationOptions) {
        self.table = table
        let relationship = layout.model.relationship(table.relationship.property, of: table.relationship.entity)
        let inverse = layout.model.relationship(table.inverse.property, of: table.inverse.entity)
        source = ranges.families[inverse?.destinationEntity ?? table.relationship.entity] ?? KeyRanges.Family()
        destination = ranges.families[relationship?.destinationEntity ?? table.inverse.entity] ?? KeyRanges.Family()
        seed = options.seed
        let own = relationship.map(RelationshipLimits.init) ?? .none
        let back = inverse.map(RelationshipLimits.init) ?? .none
        isMandatory = own.least > 0
        if table.isReflexive {
            shape = .ring(reach: own.least > 1 ? (own.least + 1) / 2 : 0)
        } else if let wanted = options.links[table.relationship] {
            shape = .spread(min(wanted.lowerBound, own.most)...min(wanted.upperBound, own.most))
        } else if back.isFree {
            shape = .spread(own.least...max(own.least, min(3, own.most)))
        } else {
            let (few, many) = (source.count, destination.count)
            // As many pairs as both sides need, at most as many as both allow, and two for each object if possible.
            let least = max(few * own.least, many * back.least)
            let most = min(
                JoinRowMaker.pairs(few, min(own.most, many)), JoinRowMaker.pairs(many, min(back.most, few)))
            shape = .even(Shares(of: max(least, min(2 * few, most)), among: few))
        }
    }

    private static func pairs(_ objects: Int64, _ links: Int64) -> Int64 {
        let product = objects.multipliedReportingOverflow(by: links)
        return product.overflow ? .max : product.partialValue
    }

    /// Inserts all rows; `written` gets the number of rows of each object.
    func write(to connection: Connection, written: (Int64) -> Void) throws {
        guard source.count > 0, destination.count > 0 else { return }
        var columns = [table.firstColumn, table.secondColumn]
        columns += [table.secondOrderColumn, table.firstOrderColumn].compactMap { $0 }
        let insert = try connection.prepare(
            "INSERT INTO \(table.name) (\(columns.joined(separator: ", "))) "
                + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))")
        for index in 0..<source.count {
            switch shape {
            case .ring(let reach): written(try relate(index, around: reach, insert))
            case .spread(let links): written(try relate(index, links, insert))
            case .even(let shares): written(try relate(index, shares.objects(of: index), insert))
            }
        }
    }

    /// Relates an object to its neighbours; each direction is a row, inserted with its own object.
    private func relate(_ index: Int64, around reach: Int64, _ insert: Statement) throws -> Int64 {
        guard reach > 0 else {
            // The last object of an odd number has only itself.
            let other = (index ^ 1) < source.count ? index ^ 1 : index
            guard other != index || isMandatory else { return 0 }
            try write(index, other, position: 0, insert)
            return 1
        }
        var others: Set<Int64> = []
        for step in 1...reach {
            others.insert((index + step) % source.count)
            others.insert((index - step % source.count + source.count) % source.count)
        }
        for (position, other) in others.sorted().enumerated() {
            try write(index, other, position: Int64(position), insert)
        }
        return Int64(others.count)
    }

    private func relate(_ index: Int64, _ links: ClosedRange<Int64>, _ insert: Statement) throws -> Int64 {
        var random = SeededRandom(seed: seed, table.relationship.stream, index)
        let wanted = links.lowerBound + random.below(links.upperBound - links.lowerBound + 1)
        let count = min(wanted, destination.count)
        guard count > 0 else { return 0 }
        // Distinct, and ascending like the table's key: evenly spread from a random start, without wrapping.
        let stride = destination.count / count
        let start = random.below(destination.count - stride * (count - 1))
        for position in 0..<count { try write(index, start + stride * position, position: position, insert) }
        return count
    }

    /// Relates an object to its next objects modulo the count; wrapped objects come first, in the order of the key.
    private func relate(_ index: Int64, _ pairs: (first: Int64, count: Int64), _ insert: Statement) throws -> Int64 {
        // The + 1 keeps an object of a relationship within one entity from being related to itself.
        let start = (pairs.first + 1) % destination.count
        let count = min(pairs.count, destination.count)
        let wrapped = max(0, start + count - destination.count)
        for position in 0..<wrapped { try write(index, position, position: position, insert) }
        for position in wrapped..<count {
            try write(index, start + position - wrapped, position: position, insert)
        }
        return count
    }

    private func write(_ index: Int64, _ other: Int64, position: Int64, _ insert: Statement) throws {
        try insert.bind(source.key(index), at: 1)
        try insert.bind(destination.key(other), at: 2)
        var parameter = 3
        if table.secondOrderColumn != nil {
            try insert.bind(OrderKey.at(position), at: parameter)
            parameter += 1
        }
        // Only the order counts: objects that share a destination are in the order of their keys.
        if table.firstOrderColumn != nil { try insert.bind(OrderKey.at(index), at: parameter) }
        try insert.run()
    }
}

/// The lowest and the highest number of related objects.
struct RelationshipLimits {
    /// 0 for an optional relationship, unless its minimum count is above 1: then it is never left empty.
    let least: Int64
    let most: Int64

    static let none = RelationshipLimits(least: 0, most: .max)

    var isFree: Bool { least == 0 && most == .max }
}

extension RelationshipLimits {
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
}

/// Objects distributed as evenly as possible over owners; each owner's objects are adjacent.
struct Shares {
    private let fewer: Int64
    /// The number of owners, the first ones, with one more object.
    private let larger: Int64

    init(of objects: Int64, among owners: Int64) {
        fewer = owners > 0 ? objects / owners : 0
        larger = owners > 0 ? objects % owners : 0
    }

    /// The owner of an object, and the object's position among the owner's objects.
    func place(of index: Int64) -> (owner: Int64, position: Int64) {
        let first = larger * (fewer + 1)
        guard index >= first, fewer > 0 else { return (index / (fewer + 1), index % (fewer + 1)) }
        return (larger + (index - first) / fewer, (index - first) % fewer)
    }

    /// The first object of an owner, and the number of its objects.
    func objects(of owner: Int64) -> (first: Int64, count: Int64) {
        (owner * fewer + min(owner, larger), fewer + (owner < larger ? 1 : 0))
    }
}
