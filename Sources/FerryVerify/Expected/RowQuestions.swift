internal import FerryBase
internal import FerrySQLite

/// What the rows of a table are asked as they are compared, so that they are not read once more for it: what
/// ``TableTally`` counts, and what they make of the table's indexes.
struct RowQuestions: Sendable {
    let indexed: IndexedRows
    /// SQL that holds for the rows that are counted.
    let conditions: [String]
    let key: KeyedHash.Key
}

/// The answers of the rows that a walk meets.
final class RowAnswers {
    private let questions: RowQuestions
    private let table: String
    private let context: VerificationContext
    private let sums: RowSums
    /// Of rows with values that are not read with them.
    private var ofLargeRows: (sums: [EntrySum], counts: [Int64])
    /// SQL that the walk must have behind its own columns.
    let columns: [String]

    /// - Parameters:
    ///   - questions: What is asked.
    ///   - table: Its name.
    ///   - own: The walk's own columns, as SQL.
    ///   - context: The stores.
    init(to questions: RowQuestions, in table: String, beside own: [String], _ context: VerificationContext) {
        (self.questions, self.table, self.context) = (questions, table, context)
        (columns, sums) = questions.indexed.reading(beside: own, counting: questions.conditions, key: questions.key)
        ofLargeRows = sums.found
    }

    /// Asks the row at hand.
    func add(_ rows: StoredRows) throws {
        if rows.isWhole { return try sums.add(rowOf: rows.walk) }
        let row = try questions.indexed.sums(
            in: table, where: "Z_PK = \(rows.integer(0))", counting: questions.conditions, key: questions.key, context)
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
