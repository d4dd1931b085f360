internal import FerryBase
package import FerrySQLite

/// Answers questions about the rows of a store, in `main`: one scan of a table answers all that was asked before.
///
/// A check first says what it will ask, so that checks share a scan. Memory grows with the questions only.
package final class TableScans {
    /// The table, not quoted, and the number of an entity with rows in it.
    package typealias Place = (table: String, number: Int64)

    private struct Question: Hashable {
        var table: String
        var number: Int64
        var columns: [String]
    }

    /// Its owner closes the store by letting it go.
    package unowned let connection: Connection
    /// The tables that are scanned in any case, nil for all; of others, only what must be known is asked.
    private let tables: Set<String>?
    private var answers: [Question: Int64] = [:]
    /// By table, in the order in which they were asked.
    private var open: [String: [Question]] = [:]
    private var longestRows: [String: Int64] = [:]

    /// Far below SQLite's limit of 2,000 columns.
    private static let mostQuestions = 200

    package init(on connection: Connection, of tables: Set<String>? = nil) {
        (self.connection, self.tables) = (connection, tables)
    }

    package func include(_ table: String) -> Bool { tables?.contains(table) != false }

    /// Says that ``rows(withoutAny:in:)`` will be called.
    package func ask(forRowsWithoutAny columns: [String], in place: Place) {
        let question = Question(table: place.table, number: place.number, columns: columns)
        guard answers[question] == nil, open[place.table]?.contains(question) != true else { return }
        open[place.table, default: []].append(question)
    }

    /// The number of rows of exactly one entity with NULL in any of the columns.
    package func rows(withoutAny columns: [String], in place: Place) throws(DatabaseError) -> Int64 {
        ask(forRowsWithoutAny: columns, in: place)
        try scan(place.table)
        return answers[Question(table: place.table, number: place.number, columns: columns)] ?? 0
    }

    private func scan(_ table: String) throws(DatabaseError) {
        while let questions = open[table]?.prefix(Self.mostQuestions), !questions.isEmpty {
            let counts = questions.map {
                EmptyValues.count(where: "Z_ENT = \($0.number) AND (\(EmptyValues.condition($0.columns)))")
            }
            let row =
                try connection.rows(
                    "SELECT \(counts.joined(separator: ", ")) FROM \(Connection.quoted(table)) NOT INDEXED"
                ).first ?? []
            for (question, count) in zip(questions, row) { answers[question] = count.integer ?? 0 }
            open[table]?.removeFirst(questions.count)
        }
    }

    /// The bytes of the longest row of a scanned table, if they are more than so many; reads no value.
    ///
    /// Nil also if the linked SQLite has no `dbstat`.
    package func longestRow(of table: String, above bytes: Int) throws(DatabaseError) -> Int64? {
        guard include(table), try connection.contentBytes() > Int64(bytes) else { return nil }
        if longestRows[table] == nil {
            do {
                longestRows[table] = try TableSizes.longestRow(of: table, on: connection)
            } catch  where !error.isInterrupted {
                // The check of pages reports their damage.
            }
        }
        return longestRows[table].flatMap { $0 > Int64(bytes) ? $0 : nil }
    }
}

/// SQL of NULLs in rows.
package enum EmptyValues {
    package static func condition(_ columns: [String]) -> String {
        columns.map { "\(Connection.quoted($0)) IS NULL" }.balanced(by: "OR")
    }

    /// The number of rows that meet a condition.
    ///
    /// In the condition of a CASE, unlike in a value, IS NULL does not read the tested value.
    static func count(where condition: String) -> String { "count(CASE WHEN \(condition) THEN 1 END)" }
}
