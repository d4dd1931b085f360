internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Fills the join table of one many-to-many relationship, in the order of its primary key.
struct JoinRowMaker {
    private let table: JoinTable
    private let source: KeyRanges.Family
    private let destination: KeyRanges.Family
    private let links: ClosedRange<Int64>
    private let seed: UInt64

    init(_ table: JoinTable, in layout: StoreLayout, ranges: KeyRanges, options: GenerationOptions) {
        self.table = table
        source = ranges.families[table.relationship.entity] ?? KeyRanges.Family()
        destination = ranges.families[table.inverse.entity] ?? KeyRanges.Family()
        seed = options.seed
        let relationship = layout.model.relationship(table.relationship.property, of: table.relationship.entity)
        let isMandatory = relationship?.isOptional == false
        let limit = relationship.map { $0.maxCount > 1 ? Int64($0.maxCount) : Int64.max } ?? .max
        let wanted = options.links[table.relationship] ?? (isMandatory ? 1 : 0)...3
        links = min(wanted.lowerBound, limit)...min(wanted.upperBound, limit)
    }

    /// Writes all rows; `written` is called now and then with the rows written since its last call.
    func write(to connection: Connection, written: (Int64) throws -> Void) throws {
        guard source.count > 0, destination.count > 0 else { return }
        var columns = [table.firstColumn, table.secondColumn]
        columns += [table.secondOrderColumn, table.firstOrderColumn].compactMap { $0 }
        let insert = try connection.prepare(
            "INSERT INTO \(table.name) (\(columns.joined(separator: ", "))) "
                + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))")
        var pending: Int64 = 0
        for index in 0..<source.count {
            pending += table.isReflexive ? try pair(index, insert) : try relate(index, insert)
            if pending >= 10_000 {
                try written(pending)
                pending = 0
            }
        }
        try written(pending)
    }

    /// Rows of both directions between neighbours.
    private func pair(_ index: Int64, _ insert: Statement) throws -> Int64 {
        let other = index ^ 1
        guard other < source.count else { return 0 }
        try insert.bind(source.key(index), at: 1)
        try insert.bind(source.key(other), at: 2)
        try insert.run()
        return 1
    }

    private func relate(_ index: Int64, _ insert: Statement) throws -> Int64 {
        var random = SeededRandom(seed: seed, table.relationship.stream, index)
        let wanted = links.lowerBound + random.below(links.upperBound - links.lowerBound + 1)
        let count = min(wanted, destination.count)
        guard count > 0 else { return 0 }
        // Distinct and, along the table's key, ascending: evenly spread from a random start that does not wrap.
        let stride = destination.count / count
        let start = random.below(destination.count - stride * (count - 1))
        for position in 0..<count {
            try insert.bind(source.key(index), at: 1)
            try insert.bind(destination.key(start + stride * position), at: 2)
            var parameter = 3
            if table.secondOrderColumn != nil {
                try insert.bind(OrderKey.at(position), at: parameter)
                parameter += 1
            }
            // Only its order counts: the objects that share one destination stand in the order of their keys.
            if table.firstOrderColumn != nil { try insert.bind(OrderKey.at(index), at: parameter) }
            try insert.run()
        }
        return count
    }
}
