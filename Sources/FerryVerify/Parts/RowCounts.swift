internal import FerryBase
internal import FerrySQLite

/// The counts and index sums to be made when a table's rows are compared, which save another reading.
struct RowCounting: Sendable {
    let items: [TableTally.Counted]
    let indexed: IndexedRows
    let key: KeyedHash.Key
}

/// The counts of the rows in a walk, whose second column is `Z_ENT`.
final class RowCounts {
    /// The items that count the rows of one entity, as ranges of arrays: a row costs no reference counting.
    private struct OfEntity {
        var all: Range<Int>
        var empty: Range<Int>
    }

    private let counting: RowCounting
    private let table: String
    private let context: VerificationContext
    private let sums: RowSums
    /// In a large family most items concern other entities, so that conditions for each would take longer than the row.
    private var entities: [Int64: OfEntity] = [:]
    private var all: [Int] = []
    private var empty: [(column: Int, place: Int)] = []
    private var last: (number: Int64, items: OfEntity?)?
    /// The places of the items that SQL counts.
    private let conditions: [Int]
    private var counts: [Int64]
    private var ofLargeRows: (sums: [EntrySum], counts: [Int64])
    /// The SQL columns that the walk must select after its own.
    let columns: [String]

    /// The walk's own columns are not quoted.
    init(of counting: RowCounting, in table: String, beside own: [String], _ context: VerificationContext) {
        (self.counting, self.table, self.context) = (counting, table, context)
        let places = Dictionary(own.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var found: [Int64: (all: [Int], empty: [(column: Int, place: Int)])] = [:]
        var conditions: [Int] = []
        for (place, item) in counting.items.enumerated() {
            switch item.rows {
            case (let number, nil)?: found[number, default: ([], [])].all.append(place)
            case (let number, let empty?)? where places[empty] != nil:
                found[number, default: ([], [])].empty.append((places[empty] ?? 0, place))
            default: conditions.append(place)
            }
        }
        self.conditions = conditions
        (columns, sums) = counting.indexed.reading(
            beside: own.map(Connection.quoted), counting: conditions.map { counting.items[$0].condition },
            key: counting.key)
        counts = Array(repeating: 0, count: counting.items.count)
        ofLargeRows = (sums.found.sums, [0] + counts)
        for (number, items) in found {
            entities[number] = OfEntity(
                all: all.count..<all.count + items.all.count, empty: empty.count..<empty.count + items.empty.count)
            all += items.all
            empty += items.empty
        }
    }

    func restart() {
        sums.restart()
        counts = Array(repeating: 0, count: counts.count)
        ofLargeRows = (sums.found.sums, [0] + counts)
    }

    func add(_ rows: StoredRows) throws {
        guard rows.isWhole else {
            let row = try counting.indexed.sums(
                in: table, where: "Z_PK = \(rows.integer(0))", counting: counting.items.map(\.condition),
                key: counting.key, context)
            ofLargeRows = Self.sum(ofLargeRows, row)
            return
        }
        try sums.add(rowOf: rows.walk)
        let number = rows.walk.integer(1)
        // Usually a row has the entity of the one before.
        if last?.number != number { last = (number, entities[number]) }
        // SQL's `=` takes no text for a number.
        guard let items = last?.items, rows.walk.storageClass(1) == .integer else { return }
        for index in items.all { counts[all[index]] += 1 }
        for index in items.empty where rows.walk.isNull(empty[index].column) { counts[empty[index].place] += 1 }
    }

    var found: (sums: [EntrySum], counts: [Int64]) {
        let found = sums.found
        var all = [found.counts[0]] + counts
        for (place, count) in zip(conditions, found.counts.dropFirst()) { all[place + 1] = count }
        return Self.sum((found.sums, all), ofLargeRows)
    }

    private static func sum(
        _ left: (sums: [EntrySum], counts: [Int64]), _ right: (sums: [EntrySum], counts: [Int64])
    ) -> (sums: [EntrySum], counts: [Int64]) {
        let sums = zip(left.sums, right.sums).map { left, right in
            var sum = left
            sum.add(right)
            return sum
        }
        return (sums, zip(left.counts, right.counts).map(+))
    }
}
