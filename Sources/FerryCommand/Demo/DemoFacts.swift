internal import FerryBase
internal import FerrySQLite

/// A few questions in SQL whose answers show what a migration did.
struct DemoFacts {
    private let questions: [(meaning: String, sql: String)]

    /// Of a store before the migration; the join table's name follows from the model.
    static func before(joinTable: String) -> DemoFacts {
        DemoFacts(questions: [
            ("books", "SELECT count(*) FROM ZBOOK"),
            ("different authors' names", "SELECT count(DISTINCT ZAUTHORNAME) FROM ZBOOK"),
            ("books that a user has", "SELECT count(*) FROM \(joinTable)"),
            (
                "most frequent author",
                "SELECT ZAUTHORNAME, count(*) FROM ZBOOK WHERE ZAUTHORNAME NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
            ),
        ])
    }

    static let after = DemoFacts(questions: [
        ("books", "SELECT count(*) FROM ZBOOK"),
        ("authors", "SELECT count(*) FROM ZAUTHOR"),
        ("files", "SELECT count(*) FROM ZFILE"),
        (
            "most frequent author",
            "SELECT ZAUTHOR.ZNAME, count(*) FROM ZBOOK JOIN ZAUTHOR ON ZAUTHOR.Z_PK = ZBOOK.ZAUTHOR "
                + "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
        ),
    ])

    /// Asks a store; a line for each question, its answer first.
    func lines(_ store: String) throws -> [String] {
        let connection = try Connection(path: store, mode: .readOnly)
        var table = TextTable(["", "", ""], [.right, .left, .left])
        for (meaning, sql) in questions {
            let row = try connection.rows(sql).first ?? []
            let answer = row.map { value in
                switch value {
                case .integer(let number): Quantity.grouped(number)
                case .text(let text): text
                case .real(let number): Quantity.decimal(number, places: 2)
                case .null, .blob: "–"
                }
            }
            table.add([answer.joined(separator: ", "), meaning, sql])
        }
        return Array(table.lines.dropFirst())
    }
}
