internal import FerryBase
internal import FerrySQLite

/// The counts and index sums to be made when a table's rows are compared, which save another reading.
struct RowCounting: Sendable {
    let items: [TableTally.Counted]
    let indexed: IndexedRows
    let key: KeyedHash.Key
}

/// The counts of the rows in a walk, whose second column is `Z_ENT`.
///
/// In a large family most items concern other entities, so that SQL conditions for each would take longer than the row.
/// The items are numbers and ranges in arrays: a row costs no reference counting.
final class RowCounts {
    private static let entityColumn = 1

    /// The items that count the rows of one entity, as ranges of arrays.
    private struct OfEntity {
        var all: Range<Int>
        var empty: Range<Int>
        /// The first of the entity's places in ``isHolder``.
        var holders: Int
    }

    /// A foreign key with its companions, by columns; -1 for none.
    private struct Companions {
        let place: Int
        let column: Int
        let entityColumn: Int
        let orderColumn: Int
        let other: Int64?
    }

    private let counting: RowCounting
    private let table: String
    private let context: VerificationContext
    private let sums: RowSums
    private var entities: [Int64: OfEntity] = [:]
    /// Places among all items.
    private var all: [Int] = []
    private var empty: [(column: Int, place: Int)] = []
    private var companions: [Companions] = []
    /// For each entity in turn whether its objects have each of the keys.
    private var isHolder: [Bool] = []
    private var last: (number: Int64, items: OfEntity?)?
    private var counts: [Int64]
    private var ofLargeRows: (sums: [EntrySum], counts: [Int64])
    /// The SQL columns that the walk must select after its own.
    let columns: [String]

    /// The walk's own columns, not quoted, are those of the table.
    init(of counting: RowCounting, in table: String, beside own: [String], _ context: VerificationContext) {
        (self.counting, self.table, self.context) = (counting, table, context)
        (columns, sums) = counting.indexed.reading(
            beside: own.map(Connection.quoted), counting: [], key: counting.key)
        counts = Array(repeating: 0, count: counting.items.count)
        ofLargeRows = (sums.found.sums, [0] + counts)
        add(counting.items, Dictionary(first: own.enumerated().map { ($1, $0) }))
    }

    private func add(_ items: [TableTally.Counted], _ places: [String: Int]) {
        func place(of column: String) -> Int {
            guard let place = places[column] else { preconditionFailure("\(column) is not read") }
            return place
        }
        var found: [Int64: (all: [Int], empty: [(column: Int, place: Int)])] = [:]
        var holders: [[Int64]] = []
        for (index, item) in items.enumerated() {
            switch item.rows {
            case .entity(let number): found[number, default: ([], [])].all.append(index)
            case .empty(let number, let column):
                found[number, default: ([], [])].empty.append((place(of: column), index))
            case .companions(let keys):
                companions.append(
                    Companions(
                        place: index, column: place(of: keys.column),
                        entityColumn: keys.entityColumn.map(place) ?? -1,
                        orderColumn: keys.orderColumn.map(place) ?? -1, other: keys.other))
                holders.append(keys.holders)
            }
        }
        for (number, items) in found {
            entities[number] = OfEntity(
                all: all.count..<all.count + items.all.count, empty: empty.count..<empty.count + items.empty.count,
                holders: isHolder.count)
            all += items.all
            empty += items.empty
            isHolder += holders.map { $0.contains(number) }
        }
    }

    func restart() {
        sums.restart()
        counts = Array(repeating: 0, count: counts.count)
        ofLargeRows = (sums.found.sums, [0] + counts)
    }

    func add(_ rows: TableRows) throws {
        guard rows.isWhole else {
            let row = try counting.indexed.sums(
                in: table, where: "Z_PK = \(rows.integer(0))", counting: counting.items.map(\.condition),
                key: counting.key, context)
            ofLargeRows = Self.sum(ofLargeRows, row)
            return
        }
        let row = rows.walk
        try sums.add(rowOf: row)
        let number = row.integer(Self.entityColumn)
        // Usually a row has the entity of the one before.
        if last?.number != number { last = (number, entities[number]) }
        // SQL's `=` takes no text for a number.
        let entity = row.storageClass(Self.entityColumn) == .integer ? last?.items : nil
        if let entity {
            for index in entity.all { counts[all[index]] += 1 }
            for index in entity.empty where row.isNull(empty[index].column) { counts[empty[index].place] += 1 }
        }
        for index in companions.indices {
            let holds = entity.map { isHolder[$0.holders + index] }
            if !isAgreed(companions[index], row, by: holds) { counts[companions[index].place] += 1 }
        }
    }

    /// Whether a row has a key with its companions, as an object of an entity that has the key; or none of them.
    private func isAgreed(_ keys: Companions, _ row: Statement, by isHolder: Bool?) -> Bool {
        if row.isNull(keys.column) {
            return (keys.entityColumn < 0 || row.isNull(keys.entityColumn))
                && (keys.orderColumn < 0 || row.isNull(keys.orderColumn))
        }
        // Without an entity at all, SQL decides nothing.
        guard isHolder ?? row.isNull(Self.entityColumn) else { return false }
        if keys.orderColumn >= 0, row.storageClass(keys.orderColumn) != .integer { return false }
        guard keys.entityColumn >= 0, let other = keys.other else { return true }
        switch row.storageClass(keys.entityColumn) {
        case .integer: return row.integer(keys.entityColumn) == other
        case .real: return row.real(keys.entityColumn) == Double(other)
        default: return false
        }
    }

    var found: (sums: [EntrySum], counts: [Int64]) {
        Self.sum((sums.found.sums, [sums.rows] + counts), ofLargeRows)
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
