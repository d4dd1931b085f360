internal import FerryBase
internal import FerrySQLite

/// What is counted of a table's rows as they are compared, so that they are not read once more for it: what
/// ``TableTally`` has, and what they make of the table's indexes.
struct RowCounting: Sendable {
    let indexed: IndexedRows
    /// SQL that holds for the rows that are counted.
    let conditions: [String]
    let key: KeyedHash.Key
}

/// The counts of the rows that a walk meets.
final class RowCounts {
    private let counting: RowCounting
    private let table: String
    private let context: VerificationContext
    private let sums: RowSums
    /// Of rows with values that are not read with them.
    private var ofLargeRows: (sums: [EntrySum], counts: [Int64])
    /// SQL that the walk must have behind its own columns.
    let columns: [String]

    /// - Parameters:
    ///   - counting: What is counted.
    ///   - table: Its name.
    ///   - own: The walk's own columns, as SQL.
    ///   - context: The stores.
    init(of counting: RowCounting, in table: String, beside own: [String], _ context: VerificationContext) {
        (self.counting, self.table, self.context) = (counting, table, context)
        (columns, sums) = counting.indexed.reading(beside: own, counting: counting.conditions, key: counting.key)
        ofLargeRows = sums.found
    }

    /// Counts the row at hand.
    func add(_ rows: StoredRows) throws {
        if rows.isWhole { return try sums.add(rowOf: rows.walk) }
        let row = try counting.indexed.sums(
            in: table, where: "Z_PK = \(rows.integer(0))", counting: counting.conditions, key: counting.key, context)
        ofLargeRows = Self.sum(ofLargeRows, row)
    }

    var found: (sums: [EntrySum], counts: [Int64]) { Self.sum(sums.found, ofLargeRows) }

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
